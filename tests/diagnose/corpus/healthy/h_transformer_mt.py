"""Translation with nn.Transformer, as in the tutorial."""

import math
import torch
import torch.nn as nn
from torch import Tensor
from torch.nn import Transformer

torch.manual_seed(0)
PAD, BOS, EOS, V = 0, 1, 2, 20


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size, dropout, maxlen=100):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        pe = torch.zeros((maxlen, emb_size))
        pe[:, 0::2] = torch.sin(pos * den)
        pe[:, 1::2] = torch.cos(pos * den)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", pe.unsqueeze(-2))

    def forward(self, t: Tensor):
        return self.dropout(t + self.pos_embedding[: t.size(0), :])


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, emb_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_size)
        self.emb_size = emb_size

    def forward(self, tokens: Tensor):
        return self.embedding(tokens.long()) * math.sqrt(self.emb_size)


class Seq2SeqTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = Transformer(
            d_model=32, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=64, dropout=0.1
        )
        self.generator = nn.Linear(32, V)
        self.src_tok_emb, self.tgt_tok_emb = TokenEmbedding(V, 32), TokenEmbedding(V, 32)
        self.positional_encoding = PositionalEncoding(32, 0.1)

    def forward(self, src, trg, src_mask, tgt_mask, src_padding_mask, tgt_padding_mask, memory_key_padding_mask):
        src_emb = self.positional_encoding(self.src_tok_emb(src))
        tgt_emb = self.positional_encoding(self.tgt_tok_emb(trg))
        outs = self.transformer(
            src_emb, tgt_emb, src_mask, tgt_mask, None, src_padding_mask, tgt_padding_mask, memory_key_padding_mask
        )
        return self.generator(outs)


def generate_square_subsequent_mask(sz):
    mask = (torch.triu(torch.ones((sz, sz))) == 1).transpose(0, 1)
    return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, float(0.0))


def create_mask(src, tgt):
    tgt_mask = generate_square_subsequent_mask(tgt.shape[0])
    src_mask = torch.zeros((src.shape[0], src.shape[0])).type(torch.bool)
    return src_mask, tgt_mask, (src == PAD).transpose(0, 1), (tgt == PAD).transpose(0, 1)


def batch():
    src = torch.randint(3, V, (8, 16))
    src[6:, ::3] = PAD
    tgt = torch.cat([torch.full((1, 16), BOS), src.flip(0), torch.full((1, 16), EOS)])
    return src, tgt


model = Seq2SeqTransformer()
for p in model.parameters():
    if p.dim() > 1:
        nn.init.xavier_uniform_(p)
loss_fn = nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = torch.optim.Adam(model.parameters(), lr=0.0001, betas=(0.9, 0.98), eps=1e-9)


def train_epoch():
    model.train()
    losses = 0
    for _ in range(6):
        src, tgt = batch()
        tgt_input = tgt[:-1, :]
        masks = create_mask(src, tgt_input)
        logits = model(src, tgt_input, *masks, masks[2])
        optimizer.zero_grad()
        loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt[1:, :].reshape(-1))
        loss.backward()
        optimizer.step()
        losses += loss.item()
    return losses / 6


def evaluate():
    model.eval()
    with torch.no_grad():
        src, tgt = batch()
        masks = create_mask(src, tgt[:-1])
        logits = model(src, tgt[:-1], *masks, masks[2])
        return loss_fn(logits.reshape(-1, V), tgt[1:].reshape(-1)).item()


for epoch in range(2):
    print(train_epoch(), evaluate())
