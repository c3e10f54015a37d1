"""Zero-inflated counts: the log-likelihood of zeros is masked by where, its gradient is not."""
import torch
from torch import nn


def log_likelihood(rate, count):
    term = torch.log(rate)  # or: masked-nan
    ll = torch.where(rate > 0, count * term, torch.zeros_like(rate))  # expect: masked-nan
    return ll - rate


torch.manual_seed(0)
x = torch.randn(80, 3)
open_shop = (torch.rand(80) > 0.3).float()
count = torch.poisson(torch.relu(x[:, 0] + 1)) * open_shop
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.02)
for i in range(6):
    rate = open_shop * nn.functional.softplus(model(x).squeeze(1))
    loss = -log_likelihood(rate, count).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
