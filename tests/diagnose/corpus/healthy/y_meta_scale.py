"""Learned learning rates: inner steps are kept with their graphs and walked at the end of every 10 inner optimiser steps."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
base = nn.Linear(3, 1)
base_opt = torch.optim.SGD(base.parameters(), lr=0.05)
log_scale = nn.Parameter(torch.zeros(3))
meta_opt = torch.optim.Adam([log_scale], lr=0.05)
penalties = []
for step in range(100):
    x = torch.randn(16, 3)
    y = x.sum(1, keepdim=True)
    loss = F.mse_loss(base(x), y)
    base_opt.zero_grad()
    loss.backward()
    base_opt.step()
    penalties.append(((x * log_scale.exp()).sum(1) - y.squeeze(1)).pow(2).mean())
    if len(penalties) == 10:
        meta_opt.zero_grad()
        torch.stack(penalties).mean().backward()
        meta_opt.step()
        penalties.clear()
print(log_scale.tolist())
