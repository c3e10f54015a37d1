"""Anomaly mode stops at the NaN: the angle between a vector and itself."""

import torch
from torch import nn

targets = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
points = nn.Parameter(torch.tensor([[1.0, 0.5], [0.0, 2.0], [1.0, 1.0]]))
opt = torch.optim.SGD([points], lr=0.1)
torch.autograd.set_detect_anomaly(True)
for _ in range(3):
    unit = points / points.pow(2).sum(1, keepdim=True).sqrt()
    cosine = (unit * targets).sum(1)
    angle = torch.acos(cosine)  # expect: nonfinite-backward
    loss = angle.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
