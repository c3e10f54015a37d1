"""Remember the first symbol over sixty steps with a plain tanh RNN cell."""
import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, symbols=4, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.first = nn.Linear(symbols, hidden)
        self.recur = nn.Linear(hidden, hidden)
        nn.init.normal_(self.recur.weight, std=0.05)  # or: vanishing
        self.read = nn.Linear(hidden, symbols)

    def forward(self, x, steps):
        h = torch.tanh(self.first(x))
        for _ in range(steps):
            h = torch.tanh(self.recur(h))  # expect: vanishing
        return self.read(h)


def train(model, steps=12):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for i in range(steps):
        y = torch.randint(0, 4, (32,))
        x = nn.functional.one_hot(y, 4).float()
        loss = nn.functional.cross_entropy(model(x, 60), y)
        optimizer.zero_grad()
        loss.backward()  # or: vanishing
        optimizer.step()  # or: vanishing
        print(i, loss.item(), model.first.weight.grad.abs().max().item())


torch.manual_seed(0)
train(Memory())
