"""Multi-scale features are collected in a list, detached 'because they only are features'."""
import torch
from torch import nn


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([nn.Conv1d(1, 4, 3, padding=1), nn.Conv1d(4, 4, 3, padding=1)])
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        collected = []
        for stage in self.stages:
            x = torch.relu(stage(x))
            collected.append(x.mean(dim=2).detach())  # expect: cut-detach stages.0.weight stages.0.bias stages.1.weight stages.1.bias
        return self.head(torch.cat(collected, dim=1))


torch.manual_seed(0)
net = Pyramid()
optimizer = torch.optim.Adagrad(net.parameters(), lr=0.05)
for epoch in range(10):
    x = torch.randn(24, 1, 12)
    loss = nn.functional.cross_entropy(net(x), (x.mean(dim=(1, 2)) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
