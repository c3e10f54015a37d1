"""Predictions are kept for a plot, with the graphs that made them."""

import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 16), nn.ReLU())
        self.head = nn.Linear(16, 1)
        self.records = []

    def forward(self, x):
        return self.head(self.body(x))


def main():
    torch.manual_seed(1)
    model = Regressor()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(7):
        x = torch.randn(8, 2)
        out = model(x)
        loss = nn.functional.smooth_l1_loss(out, x.norm(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.records.append({"step": step, "out": out, "loss": loss.item()})  # expect: graph-leak


main()
