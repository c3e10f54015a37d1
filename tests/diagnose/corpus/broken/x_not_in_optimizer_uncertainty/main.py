"""Uncertainty weighting of two tasks: the criterion has parameters of its own, which the optimizer does not know."""
import torch
from criterion import UncertaintyLoss
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(7, 20), nn.Tanh())
        self.depth = nn.Linear(20, 1)
        self.normal = nn.Linear(20, 3)

    def forward(self, x):
        h = self.shared(x)
        return self.depth(h), self.normal(h)


def main(steps=15):
    torch.manual_seed(0)
    net, criterion = Net(), UncertaintyLoss(2)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)  # expect: not-in-optimizer log_vars
    for _ in range(steps):
        x = torch.randn(24, 7)
        depth, normal = net(x)
        loss = criterion([
            nn.functional.l1_loss(depth, x.sum(1, keepdim=True)),
            nn.functional.mse_loss(normal, x[:, :3]),
        ])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item(), criterion.log_vars.tolist())


main()
