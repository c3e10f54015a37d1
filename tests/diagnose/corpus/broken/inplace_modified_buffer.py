"""A memory that the attention has read is written to for the next step."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, slots, size):
        super().__init__()
        self.register_buffer("memory", torch.randn(slots, size))
        self.query = nn.Linear(size, size)

    def forward(self, x):
        scores = torch.softmax(self.query(x) @ self.memory.t(), dim=-1)
        found = scores @ self.memory
        self.memory[0].mul_(0.9)  # expect: inplace-modified
        return found


def main():
    torch.manual_seed(0)
    reader = Reader(5, 4)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(2, 4)
        loss = (reader(x) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
