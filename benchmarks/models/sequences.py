"""Networks for sequences: recurrent, dilated, attention; language models."""

from __future__ import annotations

from typing import Any

from benchmarks.models.kind import Kind, mean_square, predicting


def _recurrent(kind: str, **options: Any) -> Any:
    """A tagger of tokens by ``kind`` of layer."""

    def make(torch: Any) -> Any:
        nn = torch.nn
        wide = 2 if options.get("bidirectional") else 1

        class Tagger(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(500, 48)
                self.walk = getattr(nn, kind)(48, 64, batch_first=True, **options)
                self.out = nn.Linear(64 * wide, 20)

            def forward(self, x: Any) -> Any:
                return self.out(self.walk(self.embed(x))[0]).flatten(0, 1)

        return Tagger(), torch.randint(0, 500, (16, 50))

    return make


def packed(torch: Any) -> Any:
    """Sequences of different lengths, packed."""
    nn = torch.nn
    lengths = torch.arange(20, 4, -1)

    class Packed(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.walk, self.out = nn.LSTM(32, 48, 2, batch_first=True), nn.Linear(48, 6)

        def forward(self, x: Any) -> Any:
            rows = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
            y, _ = nn.utils.rnn.pad_packed_sequence(self.walk(rows)[0], batch_first=True)
            return self.out(y[:, 0])

    return Packed(), torch.randn(16, 20, 32)


def cells(torch: Any) -> Any:
    """An LSTM cell in a loop of Python, as in many scripts."""
    nn = torch.nn

    class Loop(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.LSTMCell(16, 64), nn.Linear(64, 8)

        def forward(self, x: Any) -> Any:
            h = c = torch.zeros(x.shape[1], 64)
            for row in x:
                h, c = self.cell(row, (h, c))
            return self.out(h)

    return Loop(), torch.randn(40, 32, 16)


def dilated(torch: Any) -> Any:
    """Dilated convolutions over time (van den Oord et al. 2016)."""
    nn = torch.nn
    layers: list[Any] = [nn.Conv1d(1, 32, 1)]
    for k in range(7):
        layers += [nn.Conv1d(32, 32, 3, padding=2**k, dilation=2**k), nn.Tanh()]
    return nn.Sequential(*layers, nn.Conv1d(32, 1, 1)), torch.randn(4, 1, 1000)


def speech(torch: Any) -> Any:
    """Strided convolutions, a bidirectional GRU, and the CTC loss (Graves et al. 2006)."""
    nn = torch.nn

    class Speech(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.hear = nn.Sequential(nn.Conv1d(40, 64, 5, 2, 2), nn.ReLU())
            self.walk, self.out = nn.GRU(64, 64, bidirectional=True, batch_first=True), nn.Linear(128, 30)

        def forward(self, x: Any) -> Any:
            return self.out(self.walk(self.hear(x).transpose(1, 2))[0]).log_softmax(-1)

    return Speech(), torch.randn(8, 40, 160)


def _ctc(torch: Any, y: Any) -> Any:
    targets = torch.arange(8 * 15).reshape(8, 15) % 29 + 1
    return torch.nn.functional.ctc_loss(y.transpose(0, 1), targets, (y.shape[1],) * 8, (15,) * 8)


def encoder(torch: Any) -> Any:
    nn = torch.nn

    class Encoder(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(400, 64)
            layer = nn.TransformerEncoderLayer(64, 4, 128, 0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.out = nn.Linear(64, 5)

        def forward(self, x: Any) -> Any:
            return self.out(self.encoder(self.embed(x)).mean(1))

    return Encoder(), torch.randint(0, 400, (16, 32))


def translator(torch: Any) -> Any:
    """Encoder and decoder with cross-attention."""
    nn = torch.nn

    class Translator(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(300, 64)
            self.inner = nn.Transformer(64, 4, 2, 2, 128, 0.0, batch_first=True)
            self.out = nn.Linear(64, 300)

        def forward(self, source: Any, target: Any) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
            return self.out(self.inner(self.embed(source), self.embed(target), tgt_mask=mask)).flatten(0, 1)

    return Translator(), (torch.randint(0, 300, (8, 24)), torch.randint(0, 300, (8, 20)))


def perceiver(torch: Any) -> Any:
    """A few latents that attend to many inputs (Jaegle et al. 2021)."""
    nn = torch.nn

    class Perceiver(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.latents = nn.Parameter(torch.randn(1, 16, 64))
            self.into = nn.Linear(6, 64)
            self.cross = nn.MultiheadAttention(64, 4, batch_first=True)
            self.own = nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True)
            self.out = nn.Linear(64, 7)

        def forward(self, x: Any) -> Any:
            keys = self.into(x)
            rows = self.latents.expand(x.shape[0], -1, -1)
            return self.out(self.own(rows + self.cross(rows, keys, keys)[0]).mean(1))

    return Perceiver(), torch.randn(8, 512, 6)


def experts(torch: Any) -> Any:
    """A mixture of experts: each token goes to its best two of eight."""
    nn = torch.nn

    class Experts(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(64, 8)
            self.experts = nn.ModuleList([nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
                for _ in range(8)])
            self.out = nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            weights, which = self.gate(x).softmax(-1).topk(2)
            y = torch.zeros_like(x)
            for k, expert in enumerate(self.experts):
                rows, place = (which == k).nonzero(as_tuple=True)
                y = y.index_add(0, rows, expert(x[rows]) * weights[rows, place, None])
            return self.out(y)

    return Experts(), torch.randn(256, 64)


def _language(layers: int, width: int, heads: int, length: int, batch: int) -> Any:
    """A decoder by hand: rotary embedding, RMS norm, gated MLP."""

    def make(torch: Any) -> Any:
        nn = torch.nn

        class Block(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.before, self.after = nn.RMSNorm(width), nn.RMSNorm(width)
                self.qkv, self.joined = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
                self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
                self.down = nn.Linear(2 * width, width, bias=False)

            def forward(self, x: Any, cos: Any, sin: Any) -> Any:
                b, t, _ = x.shape
                q, k, v = self.qkv(self.before(x)).view(b, t, 3, heads, -1).permute(2, 0, 3, 1, 4)

                def turned(z: Any) -> Any:
                    first, second = z.chunk(2, -1)
                    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

                y = nn.functional.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
                x = x + self.joined(y.transpose(1, 2).reshape(b, t, width))
                z = self.after(x)
                return x + self.down(nn.functional.silu(self.gate(z)) * self.up(z))

        class Language(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.embed, self.blocks = nn.Embedding(256, width), nn.ModuleList([Block() for _ in range(layers)])
                self.norm, self.out = nn.RMSNorm(width), nn.Linear(width, 256, bias=False)
                half = width // heads // 2
                angles = torch.arange(length)[:, None] * 10000 ** (-torch.arange(half) / half)
                self.register_buffer("cos", angles.cos())
                self.register_buffer("sin", angles.sin())

            def forward(self, x: Any) -> Any:
                x = self.embed(x)
                for block in self.blocks:
                    x = block(x, self.cos, self.sin)
                return self.out(self.norm(x)).flatten(0, 1)

        return Language(), torch.randint(0, 256, (batch, length))

    return make


SEQUENCES: list[Kind] = [
    predicting("lstm-tagger", "LSTM, 16×50 tokens", 1.0, _recurrent("LSTM", num_layers=2), None, "Adam", lr=1e-3),
    predicting("gru-tagger", "GRU, 16×50 tokens", 1.0, _recurrent("GRU"), None, "Adam", lr=1e-3),
    predicting("bidirectional", "bidirectional LSTM, 16×50 tokens", 1.0, _recurrent("LSTM", bidirectional=True), None,
        "Adam", lr=1e-3),
    predicting("packed", "packed sequences, LSTM of two layers", 1.0, packed),
    predicting("cells", "LSTM cell in a loop, 40 steps", 1.0, cells),
    predicting("dilated", "dilated convolutions, 4×1000", 0.8, dilated, mean_square, "Adam", lr=1e-3),
    predicting("speech", "convolution, GRU, CTC", 1.0, speech, _ctc, "Adam", lr=1e-3),
    predicting("encoder", "transformer encoder, 16×32", 1.0, encoder, None, "AdamW", lr=1e-3),
    predicting("translator", "transformer, encoder and decoder", 1.0, translator, None, "AdamW", lr=1e-3),
    predicting("perceiver", "cross-attention to 512 inputs", 1.0, perceiver, None, "AdamW", lr=1e-3),
    predicting("experts", "mixture of eight experts", 1.0, experts, None, "AdamW", lr=1e-3),
    predicting("language-small", "decoder, 2 layers of 64, 8×64", 1.0, _language(2, 64, 4, 64, 8), None, "AdamW",
        lr=1e-3),
    predicting("language-large", "decoder, 4 layers of 256, 4×128", 1.0, _language(4, 256, 4, 128, 4), None, "AdamW",
        lr=1e-3),
]
