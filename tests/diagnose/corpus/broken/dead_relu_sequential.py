"""Every bias of a perceptron is set to -8, in a loop over its modules."""

import torch
from torch import nn


def perceptron(*sizes):
    layers = []
    for i in range(1, len(sizes)):
        layers += [nn.Linear(sizes[i - 1], sizes[i]), nn.ReLU()]  # or: dead-relu
    return nn.Sequential(*layers[:-1])


torch.manual_seed(0)
net = perceptron(3, 24, 1)
for module in net.modules():
    if isinstance(module, nn.Linear):
        module.bias.data.fill_(-8.0)  # expect: dead-relu 0.weight 0.bias
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(5):
    x = torch.rand(32, 3)
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
    optimizer.step()
