"""Residual blocks in a list that is filled in a loop."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.lin = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.relu(self.lin(self.norm(x)))


class ResNet(nn.Module):
    def __init__(self, width=8, depth=2):
        super().__init__()
        self.stem = nn.Linear(3, width)
        self.blocks = []  # expect: not-in-optimizer
        for _ in range(depth):
            self.blocks.append(Block(width))
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    torch.manual_seed(0)
    net = ResNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(6):
        x, y = torch.randn(16, 3), torch.randint(0, 2, (16,))
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
