"""Fifteen sigmoid layers with the default initialisation."""
import torch
import torch.nn as nn


class DeepNet(nn.Module):
    def __init__(self, depth, width):
        super().__init__()
        self.first = nn.Linear(6, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])  # or: vanishing
        self.last = nn.Linear(width, 2)

    def forward(self, x):
        x = torch.sigmoid(self.first(x))
        for layer in self.hidden:
            x = torch.sigmoid(layer(x))  # expect: vanishing
        return self.last(x)


torch.manual_seed(0)
net = DeepNet(14, 24)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(15):
    x = torch.randn(48, 6)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] * x[:, 1] > 0).long())
    opt.zero_grad()
    loss.backward()  # or: vanishing
    opt.step()  # or: vanishing
    print(step, loss.item(), net.first.weight.grad.norm().item())
