"""The pictures of docs/draw.md: ``python docs/draw/pictures.py`` draws them again."""

from __future__ import annotations

from pathlib import Path

import wengert as torch
from wengert import nn


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x):
        h = torch.relu(self.up(self.norm(x)))
        return x + 0.5 * self.down(h)


class Digits(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.first, self.last = nn.Linear(64, 32), nn.Linear(32, 10)
        self.blocks = nn.Sequential(*[Block(32) for _ in range(blocks)])

    def forward(self, x):
        return self.last(self.blocks(self.first(x)))


def graph():
    w = torch.tensor([[0.5, -1.0], [2.0, 0.1]], requires_grad=True)
    x = torch.tensor([1.0, 3.0])
    h = torch.tanh(w @ x)
    loss = (h * h).sum()
    drawing = torch.draw(loss)
    loss.backward()
    return drawing


def network():
    torch.manual_seed(0)
    model, x = Digits(1), torch.randn(16, 64)
    drawing = torch.draw(model, x)
    drawing.result.logsumexp(1).mean().backward()
    return drawing


def folded():
    torch.manual_seed(0)
    return torch.draw(Digits(40), torch.randn(16, 64), fold=30)


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.last = nn.Linear(32 * 8 * 8, 10)

    def forward(self, x):
        x = torch.relu(self.one(x))
        x = torch.relu(self.two(x))
        x = nn.functional.max_pool2d(x, 2)
        return self.last(x.flatten(1))


def step():
    torch.manual_seed(0)
    model = Images()
    optimizer = torch.optim.Adam(model.parameters())
    images, labels = torch.randn(64, 1, 16, 16), torch.randint(0, 10, (64,))

    def train():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    train()
    return torch.draw.step(train, model, optimizer)


PICTURES = {"graph": graph, "network": network, "folded": folded, "step": step}

if __name__ == "__main__":
    for name, make in PICTURES.items():
        make().save(Path(__file__).parent / f"{name}.svg")
