"""Weights are initialised anew, as new parameters, when the optimizer has the old ones already."""

import torch
from torch import nn


def orthogonal(module):
    if isinstance(module, nn.Linear):
        q, _ = torch.linalg.qr(torch.randn(module.in_features, module.out_features))
        module.weight = nn.Parameter(q.T.contiguous())  # expect: optimizer-holds-other


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)  # or: optimizer-holds-other
net.apply(orthogonal)
for _ in range(5):
    x = torch.randn(16, 6)
    loss = (net(x) - x.flip(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
