"""A linear recurrence whose matrix has a radius above one, unrolled for fifty steps, without clipping."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Accumulator(nn.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.inp = nn.Linear(1, hidden)
        self.W = nn.Parameter(1.6 * torch.linalg.qr(torch.randn(hidden, hidden))[0])  # or: exploding
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = torch.zeros(x.shape[0], self.W.shape[0])
        for t in range(x.shape[1]):
            h = h @ self.W + self.inp(x[:, t])  # expect: exploding
        return self.out(h).squeeze(1)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-4)

    def run(self, loader):
        for x, y in loader:
            loss = nn.functional.l1_loss(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()  # or: exploding
            self.opt.step()  # or: exploding
            yield loss.item(), self.model.inp.weight.grad.norm().item()


torch.manual_seed(0)
x = torch.randn(96, 50, 1)
loader = DataLoader(TensorDataset(x, x.sum(dim=(1, 2))), batch_size=12)
for value in Trainer(Accumulator()).run(loader):
    print(value)
