"""A Gaussian likelihood with a learned scale: math.exp() takes the parameter as a number."""
import math

import torch
from torch import nn


class Gaussian(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mean = nn.Linear(d, 1)
        self.log_sigma = nn.Parameter(torch.zeros(1))

    def nll(self, x, y):
        sigma = math.exp(self.log_sigma)  # expect: cut-item log_sigma
        z = (y - self.mean(x)) / sigma
        return (0.5 * z ** 2 + math.log(sigma)).mean()


torch.manual_seed(0)
model = Gaussian(4)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for i in range(20):
    x = torch.randn(32, 4)
    y = x.sum(1, keepdim=True) + 0.3 * torch.randn(32, 1)
    loss = model.nll(x, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), model.log_sigma.item())
