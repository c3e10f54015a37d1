"""Deep plain networks that are initialised for their depth: ReLU with kaiming_normal_, tanh with orthogonal weights."""

import torch
from torch import nn

torch.manual_seed(0)


def deep(kind, depth, width):
    layers = []
    for _ in range(depth):
        layer = nn.Linear(width, width)
        if kind is nn.ReLU:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        else:
            nn.init.orthogonal_(layer.weight, gain=nn.init.calculate_gain("tanh"))
        nn.init.zeros_(layer.bias)
        layers += [layer, kind()]
    return nn.Sequential(*layers, nn.Linear(width, 1))


nets = [deep(nn.ReLU, 16, 48), deep(nn.Tanh, 16, 24)]
optimizers = [torch.optim.SGD(net.parameters(), lr=1e-3) for net in nets]
for _ in range(6):
    for net, optimizer in zip(nets, optimizers):
        x = torch.randn(32, net[0].in_features)
        loss = (net(x) - x[:, :1]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
