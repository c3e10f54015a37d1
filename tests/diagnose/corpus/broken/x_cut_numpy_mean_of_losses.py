"""The mean over the tasks is taken by NumPy."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
shared = nn.Linear(5, 10)
heads = nn.ModuleList([nn.Linear(10, 1) for _ in range(2)])
opt = torch.optim.Adam([*shared.parameters(), *heads.parameters()], lr=1e-3)
for i in range(6):
    x = torch.randn(16, 5)
    losses = [nn.functional.mse_loss(h(shared(x).relu()), x[:, k:k + 1]) for k, h in enumerate(heads)]
    values = np.array([loss.detach().numpy() for loss in losses])  # expect: cut-numpy
    loss = torch.from_numpy(values).mean().requires_grad_(True)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
