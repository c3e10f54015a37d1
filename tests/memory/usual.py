"""Models as people write them: plain Python in their forwards, masks, keywords, losses among the outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import wengert as torch
import wengert.nn.functional as F
from wengert import nn

# -- a GPT with its loss ----------------------------------------------------------------------------------------------

@dataclass
class Config:
    block_size: int = 32
    vocab_size: int = 65
    n_layer: int = 6
    n_head: int = 4
    n_embd: int = 48
    dropout: float = 0.1
    bias: bool = True


class Norm(nn.Module):
    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)


class CausalAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.attn_dropout, self.resid_dropout = nn.Dropout(config.dropout), nn.Dropout(config.dropout)
        self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout
        self.flash = hasattr(torch.nn.functional, "scaled_dot_product_attention")
        self.register_buffer("mask", torch.tril(torch.ones(config.block_size, config.block_size)).view(
            1, 1, config.block_size, config.block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = self.attn_dropout(F.softmax(att, dim=-1)) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = Norm(config.n_embd, config.bias), Norm(config.n_embd, config.bias)
        self.attn = CausalAttention(config)
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd), nn.Dropout(config.dropout))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class NanoGPT(nn.Module):
    """Gives (logits, loss), the loss None without targets; looks at its own parameters on the way."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(config.vocab_size, config.n_embd), wpe=nn.Embedding(config.block_size, config.n_embd),
            drop=nn.Dropout(config.dropout), h=nn.ModuleList([Decoder(config) for _ in range(config.n_layer)]),
            ln_f=Norm(config.n_embd, bias=config.bias)))
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        device = idx.device
        _, t = idx.size()
        assert t <= self.config.block_size, f"Cannot forward sequence of length {t}"
        pos = torch.arange(0, t, dtype=torch.long, device=device)
        tok_emb = self.transformer.wte(idx)
        pos_emb = self.transformer.wpe(pos)
        x = self.transformer.drop(tok_emb + pos_emb)
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        if targets is not None:
            logits = self.lm_head(x)
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        else:
            logits = self.lm_head(x[:, [-1], :])
            loss = None
        return logits, loss


# -- a residual network -----------------------------------------------------------------------------------------------

class Bottleneck(nn.Module):
    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, 1, bias=False), nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3, self.bn3 = nn.Conv2d(planes, planes * 2, 1, bias=False), nn.BatchNorm2d(planes * 2)
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        out = self.relu(out)
        return out


class ResNet(nn.Module):
    def __init__(self, layers=(2, 2, 2), classes=10):
        super().__init__()
        self.inplanes = 12
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1, bias=False)
        self.bn1, self.relu, self.maxpool = nn.BatchNorm2d(12), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(8, layers[0])
        self.layer2 = self._make_layer(12, layers[1], stride=2)
        self.layer3 = self._make_layer(16, layers[2], stride=2)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(32, classes)

    def _make_layer(self, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * 2:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes * 2, 1, stride=stride, bias=False),
                nn.BatchNorm2d(planes * 2))
        layers = [Bottleneck(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * 2
        layers += [Bottleneck(self.inplanes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer3(self.layer2(self.layer1(x)))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


# -- an encoder with masks --------------------------------------------------------------------------------------------

class SelfAttention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def transpose_for_scores(self, x):
        x = x.view(x.size()[:-1] + (self.heads, self.size))
        return x.permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask=None, output_attentions=False):
        q = self.transpose_for_scores(self.query(hidden_states))
        k = self.transpose_for_scores(self.key(hidden_states))
        v = self.transpose_for_scores(self.value(hidden_states))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        context = context.view(context.size()[:-2] + (self.heads * self.size,))
        return (context, probs) if output_attentions else (context,)


class BertLayer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.attention, self.dense = SelfAttention(width, heads, dropout), nn.Linear(width, width)
        self.norm, self.dropout = nn.LayerNorm(width, eps=1e-12), nn.Dropout(dropout)
        self.intermediate, self.output = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.output_norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, hidden_states, attention_mask=None, output_attentions=False):
        outputs = self.attention(hidden_states, attention_mask, output_attentions)
        hidden = self.norm(self.dropout(self.dense(outputs[0])) + hidden_states)
        more = nn.functional.gelu(self.intermediate(hidden))
        hidden = self.output_norm(self.dropout(self.output(more)) + hidden)
        return (hidden,) + outputs[1:]


class Bert(nn.Module):
    """Gives a dictionary; its mask is made of the keyword ``attention_mask``."""

    def __init__(self, vocabulary=50, width=48, heads=4, layers=5, dropout=0.1):
        super().__init__()
        self.word, self.position, self.kind = (nn.Embedding(n, width) for n in (vocabulary, 64, 2))
        self.norm, self.dropout = nn.LayerNorm(width, eps=1e-12), nn.Dropout(dropout)
        self.register_buffer("position_ids", torch.arange(64).expand((1, -1)), persistent=False)
        self.layer = nn.ModuleList([BertLayer(width, heads, dropout) for _ in range(layers)])
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, 3)

    def forward(self, input_ids=None, attention_mask=None, token_type_ids=None, labels=None,
            output_hidden_states=False):
        if input_ids is None:
            raise ValueError("You have to specify input_ids")
        batch_size, seq_length = input_ids.size()
        if attention_mask is None:
            attention_mask = torch.ones((batch_size, seq_length), device=input_ids.device)
        if token_type_ids is None:
            token_type_ids = torch.zeros((batch_size, seq_length), dtype=torch.long, device=input_ids.device)
        mask = (1.0 - attention_mask[:, None, None, :].to(dtype=self.word.weight.dtype)) * torch.finfo(
            self.word.weight.dtype).min
        x = self.word(input_ids) + self.kind(token_type_ids) + self.position(self.position_ids[:, :seq_length])
        x = self.dropout(self.norm(x))
        all_hidden_states = () if output_hidden_states else None
        for i, layer_module in enumerate(self.layer):
            if output_hidden_states:
                all_hidden_states = all_hidden_states + (x,)
            layer_outputs = layer_module(x, mask)
            x = layer_outputs[0]
        pooled = torch.tanh(self.pooler(x[:, 0]))
        logits = self.classifier(self.dropout(pooled))
        loss = None
        if labels is not None:
            loss = nn.CrossEntropyLoss()(logits.view(-1, 3), labels.view(-1))
        return {"loss": loss, "logits": logits, "hidden_states": all_hidden_states}


# -- encoder and decoder ----------------------------------------------------------------------------------------------

class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), 1e-6

    def forward(self, x):
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + self.eps)
        if self.weight.dtype in [torch.float16, torch.bfloat16]:
            x = x.to(self.weight.dtype)
        return self.weight * x


class T5Attention(nn.Module):
    def __init__(self, width, heads, relative=False):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        if relative:
            self.relative = nn.Embedding(16, heads)
        self.has_relative = relative

    def compute_bias(self, query_length, key_length, causal):
        distance = torch.arange(key_length)[None, :] - torch.arange(query_length)[:, None]
        bucket = (distance.clamp(-8, 7) + 8)
        bias = self.relative(bucket).permute([2, 0, 1]).unsqueeze(0)
        if causal:
            bias = bias.masked_fill((distance > 0)[None, None], -1e9)
        return bias

    def forward(self, hidden, key_value=None, position_bias=None, causal=False):
        batch_size, length = hidden.shape[:2]

        def shape(states):
            return states.view(batch_size, -1, self.heads, self.size).transpose(1, 2)

        source = hidden if key_value is None else key_value
        q, k, v = shape(self.q(hidden)), shape(self.k(source)), shape(self.v(source))
        scores = torch.matmul(q, k.transpose(3, 2))
        if position_bias is None:
            if not self.has_relative:
                position_bias = torch.zeros((1, self.heads, length, source.shape[1]), dtype=scores.dtype)
            else:
                position_bias = self.compute_bias(length, source.shape[1], causal)
        scores = scores + position_bias
        weights = F.dropout(F.softmax(scores.float(), dim=-1).type_as(scores), p=0.1, training=self.training)
        out = torch.matmul(weights, v).transpose(1, 2).contiguous().view(batch_size, -1, self.heads * self.size)
        return self.o(out), position_bias


class T5Block(nn.Module):
    def __init__(self, width, heads, decoder, relative):
        super().__init__()
        self.is_decoder = decoder
        self.norms = nn.ModuleList([RMSNorm(width) for _ in range(3 if decoder else 2)])
        self.attention = T5Attention(width, heads, relative)
        if decoder:
            self.cross = T5Attention(width, heads)
        self.wi, self.wo = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x, position_bias=None, encoder_hidden_states=None, encoder_position_bias=None):
        y, position_bias = self.attention(self.norms[0](x), position_bias=position_bias, causal=self.is_decoder)
        x = x + y
        do_cross_attention = self.is_decoder and encoder_hidden_states is not None
        if do_cross_attention:
            y, encoder_position_bias = self.cross(self.norms[1](x), encoder_hidden_states, encoder_position_bias)
            x = x + y
        x = x + self.wo(F.relu(self.wi(self.norms[-1](x))))
        return x, position_bias, encoder_position_bias


class T5Stack(nn.Module):
    def __init__(self, embed, width, heads, layers, decoder):
        super().__init__()
        self.embed_tokens = embed
        self.block = nn.ModuleList([T5Block(width, heads, decoder, i == 0) for i in range(layers)])
        self.final_layer_norm = RMSNorm(width)

    def forward(self, input_ids, encoder_hidden_states=None):
        x = self.embed_tokens(input_ids)
        position_bias = encoder_position_bias = None
        for layer in self.block:
            x, position_bias, encoder_position_bias = layer(x, position_bias, encoder_hidden_states,
                encoder_position_bias)
        return self.final_layer_norm(x)


class T5(nn.Module):
    def __init__(self, vocabulary=40, width=48, heads=4, layers=3):
        super().__init__()
        self.shared = nn.Embedding(vocabulary, width)
        self.encoder = T5Stack(self.shared, width, heads, layers, False)
        self.decoder = T5Stack(self.shared, width, heads, layers, True)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)

    def _shift_right(self, input_ids):
        shifted = input_ids.new_zeros(input_ids.shape)
        shifted[..., 1:] = input_ids[..., :-1].clone()
        shifted[..., 0] = 0
        shifted.masked_fill_(shifted == -100, 0)
        return shifted

    def forward(self, input_ids, labels):
        memory = self.encoder(input_ids)
        x = self.decoder(self._shift_right(labels), encoder_hidden_states=memory)
        logits = self.lm_head(x * (x.shape[-1] ** -0.5))
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1), ignore_index=-100)
        return {"loss": loss, "logits": logits, "encoder_last_hidden_state": memory}


# -- a U-Net ----------------------------------------------------------------------------------------------------------

class DoubleConv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.double_conv = nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b),
            nn.ReLU(inplace=True), nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.up, self.conv = nn.ConvTranspose2d(a, a // 2, 2, stride=2), DoubleConv(a, b)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.inc = DoubleConv(3, n)
        self.down1, self.down2, self.down3 = (nn.Sequential(nn.MaxPool2d(2), DoubleConv(n * 2**i, n * 2 ** (i + 1)))
            for i in range(3))
        self.up1, self.up2, self.up3 = (Up(n * 2 ** (3 - i), n * 2 ** (2 - i)) for i in range(3))
        self.outc = nn.Conv2d(n, 2, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x4 = self.down3(x3)
        x = self.up1(x4, x3)
        x = self.up2(x, x2)
        x = self.up3(x, x1)
        return self.outc(x)


# -- recurrent --------------------------------------------------------------------------------------------------------

class Tagger(nn.Module):
    """An LSTM over packed sequences, and a loss."""

    def __init__(self, vocabulary=30, width=32, layers=3, tags=5):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.rnns = nn.ModuleList([nn.LSTM(width if i == 0 else 2 * width, width, bidirectional=True, batch_first=True)
            for i in range(layers)])
        self.drop, self.head = nn.Dropout(0.2), nn.Linear(2 * width, tags)

    def init_hidden(self, batch):
        return (torch.zeros(2, batch, 32), torch.zeros(2, batch, 32))

    def forward(self, batch):
        x, lengths = batch["tokens"], batch["lengths"]
        out = self.embedding(x)
        for i, rnn in enumerate(self.rnns):
            out, (_, _) = rnn(out, self.init_hidden(x.shape[0]))
            if i < len(self.rnns) - 1:
                out = self.drop(out)
        mask = (torch.arange(x.size(1))[None, :] < lengths[:, None]).float()
        scores = F.log_softmax(self.head(out), dim=-1)
        if "tags" not in batch:
            return scores
        loss = -(scores.gather(2, batch["tags"].unsqueeze(2)).squeeze(2) * mask).sum() / mask.sum()
        return loss, scores


class Decoding(nn.Module):
    """An LSTM cell stepped through time with a list, as in old tutorials."""

    def __init__(self, width=24):
        super().__init__()
        self.embed, self.cell1, self.cell2 = nn.Embedding(20, width), nn.LSTMCell(width, width), nn.LSTMCell(width,
            width)
        self.head = nn.Linear(width, 20)

    def forward(self, x):
        outputs, h1 = [], torch.zeros(x.size(0), 24)
        c1, h2, c2 = torch.zeros_like(h1), torch.zeros_like(h1), torch.zeros_like(h1)
        for t in range(x.shape[1]):
            h1, c1 = self.cell1(self.embed(x[:, t]), (h1, c1))
            h2, c2 = self.cell2(h1, (h2, c2))
            outputs.append(self.head(h2))
        return torch.stack(outputs, dim=1)


# -- a dense network --------------------------------------------------------------------------------------------------

class DenseLayer(nn.Module):
    def __init__(self, width, growth, size, drop):
        super().__init__()
        self.norm1, self.relu1 = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(width, size * growth, 1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(size * growth), nn.ReLU(inplace=True)
        self.conv2, self.drop_rate = nn.Conv2d(size * growth, growth, 3, padding=1, bias=False), float(drop)

    def bn_function(self, inputs):
        return self.conv1(self.relu1(self.norm1(torch.cat(inputs, 1))))

    def forward(self, input):
        prev_features = [input] if isinstance(input, torch.Tensor) else input
        new_features = self.conv2(self.relu2(self.norm2(self.bn_function(prev_features))))
        if self.drop_rate > 0:
            new_features = F.dropout(new_features, p=self.drop_rate, training=self.training)
        return new_features


class DenseBlock(nn.ModuleDict):
    def __init__(self, layers, width, growth):
        super().__init__()
        for i in range(layers):
            self.add_module(f"denselayer{i + 1}", DenseLayer(width + i * growth, growth, 2, 0.1))

    def forward(self, init_features):
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential()
        self.features.add_module("conv0", nn.Conv2d(3, 12, 3, padding=1, bias=False))
        width = 12
        for i in range(3):
            self.features.add_module(f"denseblock{i + 1}", DenseBlock(3, width, 6))
            width += 18
            if i != 2:
                self.features.add_module(f"transition{i + 1}", nn.Sequential(nn.BatchNorm2d(width),
                    nn.ReLU(inplace=True), nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2, 2)))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, 10)

    def forward(self, x):
        out = F.relu(self.features(x), inplace=True)
        out = torch.flatten(F.adaptive_avg_pool2d(out, (1, 1)), 1)
        return self.classifier(out)


# -- a mixture of experts ---------------------------------------------------------------------------------------------

class Experts(nn.Module):
    """Sends each token to two experts; which ones depends on data."""

    def __init__(self, width, count=4, top=2):
        super().__init__()
        self.gate, self.top = nn.Linear(width, count, bias=False), top
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
            for _ in range(count)])

    def forward(self, x):
        batch, length, width = x.shape
        flat = x.view(-1, width)
        logits = self.gate(flat)
        weights, selected = torch.topk(F.softmax(logits, dim=1, dtype=torch.float), self.top, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        final = torch.zeros_like(flat)
        mask = F.one_hot(selected, num_classes=len(self.experts)).permute(2, 1, 0)
        for e in range(len(self.experts)):
            idx, top_x = torch.where(mask[e])
            if top_x.shape[0] == 0:
                continue
            current = self.experts[e](flat[None, top_x].reshape(-1, width)) * weights[top_x, idx, None]
            final.index_add_(0, top_x, current.to(x.dtype))
        return final.reshape(batch, length, width), logits


class MoELayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.moe = nn.LayerNorm(width), Experts(width)
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        x = x + torch.tanh(self.mix(x))
        y, logits = self.moe(self.norm(x))
        return x + y, logits


class MoE(nn.Module):
    def __init__(self, width=32, layers=6):
        super().__init__()
        self.embed = nn.Embedding(40, width)
        self.layers = nn.ModuleList([MoELayer(width) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 40)

    def forward(self, tokens, labels=None):
        x, gates = self.embed(tokens), ()
        for layer in self.layers:
            x, logits = layer(x)
            gates += (logits,)
        scores = self.head(self.norm(x))
        balance = sum(F.softmax(g, -1).mean(0).pow(2).sum() for g in gates)
        loss = F.cross_entropy(scores.view(-1, 40), labels.view(-1)) + 0.01 * balance
        return scores, loss


# -- images as patches ------------------------------------------------------------------------------------------------

class DropPath(nn.Module):
    def __init__(self, prob):
        super().__init__()
        self.prob = prob

    def forward(self, x):
        if self.prob == 0.0 or not self.training:
            return x
        keep = 1 - self.prob
        mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
        return x * mask.div_(keep)


class ViTBlock(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * width, width))
        self.drop_path = DropPath(drop)

    def forward(self, x):
        torch._assert(x.dim() == 3, f"Expected (batch, length, width) got {x.shape}")
        y = self.norm1(x)
        y, _ = self.attn(y, y, y, need_weights=False)
        x = x + self.drop_path(y)
        return x + self.drop_path(self.mlp(self.norm2(x)))


class ViT(nn.Module):
    def __init__(self, size=32, patch=4, width=48, layers=6, heads=4):
        super().__init__()
        self.patch_size, self.image_size = patch, size
        self.conv_proj = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.layers = nn.Sequential(*[ViTBlock(width, heads, 0.1 * i / layers) for i in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        n, _, h, w = x.shape
        torch._assert(h == self.image_size, f"Wrong image height! Expected {self.image_size} but got {h}!")
        x = self.conv_proj(x).reshape(n, -1, (h // self.patch_size) * (w // self.patch_size)).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(n, -1, -1), x], dim=1) + self.pos
        return self.head(self.norm(self.layers(x))[:, 0])


# -- a graph network --------------------------------------------------------------------------------------------------

class GraphLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.message, self.update = nn.Linear(2 * width, width), nn.GRUCell(width, width)

    def forward(self, h, edge_index):
        src, dst = edge_index
        m = F.relu(self.message(torch.cat([h[src], h[dst]], dim=-1)))
        out = torch.zeros(h.size(0), m.size(1)).index_add_(0, dst, m)
        degree = torch.bincount(dst, minlength=h.size(0)).clamp(min=1).unsqueeze(-1)
        return self.update(out / degree, h)


class GNN(nn.Module):
    def __init__(self, width=32, layers=5):
        super().__init__()
        self.encode = nn.Linear(8, width)
        self.convs = nn.ModuleList([GraphLayer(width) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(width) for _ in range(layers)])
        self.head = nn.Linear(width, 4)

    def forward(self, data):
        h = self.encode(data["x"])
        for conv, norm in zip(self.convs, self.norms):
            h = h + F.dropout(norm(conv(h, data["edge_index"])), 0.1, training=self.training)
        batch = data["batch"]
        count = int(batch.max()) + 1
        pooled = torch.zeros(count, h.shape[1]).index_add_(0, batch, h)
        return self.head(pooled)


def _loss(output):
    if isinstance(output, dict):
        return output["loss"]
    return next(x for x in output if x is not None and x.dim() == 0)


def usual():
    """By name: model, sample, loss."""
    torch.manual_seed(0)
    image = torch.randn(4, 3, 32, 32)
    classes = torch.randint(10, (4,))
    tokens, targets = torch.randint(40, (4, 32)), torch.randint(40, (4, 32))
    sources = torch.randint(2, 40, (4, 24))
    mask = (torch.arange(24)[None] < torch.tensor([24, 20, 17, 24])[:, None]).long()
    entropy = lambda y: F.cross_entropy(y, classes)  # noqa: E731
    edges = torch.randint(200, (2, 900))
    graph = {"x": torch.randn(200, 8), "edge_index": edges, "batch": torch.arange(200) // 50}
    tagged = {"tokens": torch.randint(1, 30, (8, 20)), "lengths": torch.tensor([20, 3, 7, 9, 12, 20, 18, 5]),
        "tags": torch.randint(5, (8, 20))}
    return {
        "gpt": (NanoGPT(Config()), (tokens, targets), _loss),
        "resnet": (ResNet(), image, entropy),
        "bert": (Bert(), {"input_ids": sources, "attention_mask": mask, "labels": torch.randint(3, (4,)),
            "output_hidden_states": False}, _loss),
        "bert, hidden states": (Bert(), {"input_ids": sources, "attention_mask": mask,
            "labels": torch.randint(3, (4,)), "output_hidden_states": True}, _loss),
        "t5": (T5(), {"input_ids": sources, "labels": tokens}, _loss),
        "unet": (UNet(), image, lambda y: (y**2).mean()),
        "tagger": (Tagger(), ({"batch": tagged}["batch"],), _loss),
        "decoding": (Decoding(), torch.randint(20, (32, 12)), lambda y: (y**2).mean()),
        "densenet": (DenseNet(), image, entropy),
        "moe": (MoE(), {"tokens": tokens, "labels": targets}, _loss),
        "vit": (ViT(), image, entropy),
        "gnn": (GNN(), (graph,), lambda y: F.cross_entropy(y, torch.tensor([0, 1, 2, 3]))),
    }
