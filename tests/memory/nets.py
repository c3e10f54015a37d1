"""Networks of several kinds, each with a sample and a loss."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import wengert as torch
import wengert.nn.functional as F
from wengert import nn


class Residual(nn.Module):
    """Two convolutions and what came in, added and rectified in place."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.norm1(self.first(x)))
        y = self.norm2(self.second(y))
        y += x
        return self.relu(y)


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = (part.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = self.out(y.transpose(1, 2).contiguous().view(batch, time, width))
        return F.dropout(y, self.dropout, self.training)


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width),
            nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """A decoder with tied embeddings. With ``targets`` it gives the loss."""

    def __init__(self, vocabulary=40, context=32, width=48, layers=4, heads=4, dropout=0.0):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads, dropout) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, index, targets=None):
        x = self.tokens(index) + self.positions(torch.arange(index.size(1)))
        for block in self.blocks:
            x = block(x)
        scores = self.head(self.norm(x))
        return scores if targets is None else F.cross_entropy(scores.flatten(0, 1), targets.flatten())


class Recurrent(nn.Module):
    def __init__(self, width=32, layers=5):
        super().__init__()
        self.layers = nn.ModuleList([nn.LSTM(width, width, batch_first=True) for _ in range(layers)])
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        for layer in self.layers:
            x, _ = layer(x)
        return self.head(x[:, -1])


def _twice(before, after):
    return nn.Sequential(*[m for i in (before, after) for m in (
        nn.Conv2d(i, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())])


class UNet(nn.Module):
    """Down and up again, with connections that skip what is between."""

    def __init__(self, width=6, levels=3):
        super().__init__()
        wide = [width * 2**i for i in range(levels + 1)]
        self.enter, self.leave = _twice(3, width), nn.Conv2d(width, 2, 1)
        self.down = nn.ModuleList([_twice(a, b) for a, b in pairwise(wide)])
        pairs = list(pairwise(wide))[::-1]
        self.grow = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in pairs])
        self.up = nn.ModuleList([_twice(b, a) for a, b in pairs])

    def forward(self, x):
        x, skips = self.enter(x), []
        for down in self.down:
            skips.append(x)
            x = down(F.max_pool2d(x, 2))
        for grow, up in zip(self.grow, self.up):
            x = up(torch.cat([grow(x), skips.pop()], 1))
        return self.leave(x)


class Dense(nn.Module):
    """Each layer takes what all before it gave."""

    def __init__(self, width=12, growth=6, layers=6):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.layers = nn.ModuleList([nn.Sequential(nn.BatchNorm2d(width + i * growth), nn.ReLU(),
            nn.Conv2d(width + i * growth, growth, 3, padding=1)) for i in range(layers)])

    def forward(self, x):
        found = [self.stem(x)]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)))
        return torch.cat(found, 1).mean((2, 3))


class Two(nn.Module):
    """Two inputs, one of them by keyword, and a tensor that all layers take."""

    def __init__(self, width=64):
        super().__init__()
        self.layers = nn.ModuleList([nn.Bilinear(width, 8, width) for _ in range(4)])
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x, *, side):
        for layer in self.layers:
            x = torch.tanh(layer(x, side)) * self.scale
        return {"last": x, "rest": [x.sum()]}


class Writes(nn.Module):
    """Writes to its values: to a part, through a view, in place."""

    def __init__(self, width=32):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        y = self.second(torch.tanh(self.first(x)))
        y[:, 0] = 1.0
        z = y * y
        z.view(-1, 4)[:, 1] = 0.5
        w = torch.sigmoid(z)
        return F.relu(w - x, inplace=True) + w


class Branching(nn.Module):
    """How often its forward loops depends on data."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(8)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
            if x.sum() > 1e6:
                break
        return x


class Outside(nn.Module):
    """Its forward makes a tensor outside of the library."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        for _ in range(3):
            x = torch.tanh(self.layer(x)) + torch.from_numpy(np.random.rand(8).astype("f4"))
        return x


def square(y):
    return (y**2).mean()


def nets():
    """By name: model, arguments, loss."""
    torch.manual_seed(0)
    layers = [m for _ in range(8) for m in (nn.Linear(64, 64), nn.Tanh())]
    tokens, targets = torch.randint(40, (4, 32)), torch.randint(40, (4, 32))
    image = torch.randn(4, 3, 16, 16)
    return {
        "mlp": (nn.Sequential(*layers, nn.Linear(64, 3)), torch.randn(512, 64), square),
        "cnn": (nn.Sequential(*[m for i in range(6) for m in (nn.Conv2d(3 if i == 0 else 8, 8, 3, padding=1),
            nn.BatchNorm2d(8), nn.ReLU())], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.3)), image, square),
        "residual": (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), *[Residual(8) for _ in range(5)]), image, square),
        "gpt": (GPT(dropout=0.1), (tokens, targets), None),
        "scores": (GPT(), tokens, lambda y: F.cross_entropy(y.flatten(0, 1), targets.flatten())),
        "recurrent": (Recurrent(), torch.randn(8, 12, 32), square),
        "unet": (UNet(), image, square),
        "dense": (Dense(), image, square),
        "encoder": (nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 4),
            torch.randn(4, 24, 32), square),
        "autoencoder": (nn.Sequential(nn.Flatten(), *[nn.Linear(768 if i == 0 else 64, 64 if i < 7 else 768)
            if i % 2 == 0 or i == 7 else nn.Sigmoid() for i in range(8)], nn.Unflatten(1, (3, 16, 16))), image, square),
        "writes": (nn.Sequential(*[Writes() for _ in range(5)]), torch.randn(256, 32), square),
        "two": (Two(), {"x": torch.randn(128, 64), "side": torch.randn(128, 8)},
            lambda y: square(y["last"]) + y["rest"][0]),
    }
