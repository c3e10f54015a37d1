"""Non-negative inputs (counts) and weights that uniform_() puts below zero: the hidden layer is dead from the start."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Cfg:
    features: int = 9
    hidden: int = 20
    lr: float = 0.01
    steps: int = 25


class CountModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.hidden = nn.Linear(cfg.features, cfg.hidden)
        self.act = nn.ReLU()  # or: dead-relu
        self.out = nn.Linear(cfg.hidden, 1)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.uniform_(self.hidden.weight, -0.5, -0.1)  # or: dead-relu
        nn.init.zeros_(self.hidden.bias)

    def forward(self, x):
        return self.out(self.act(self.hidden(x))).squeeze(-1)  # expect: dead-relu


def main(cfg):
    torch.manual_seed(0)
    model = CountModel(cfg)
    opt = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    for _ in range(cfg.steps):
        counts = torch.poisson(torch.full((48, cfg.features), 2.0))
        loss = nn.functional.mse_loss(model(counts), counts.mean(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item(), model.hidden.weight.grad.abs().sum().item())


main(Cfg())
