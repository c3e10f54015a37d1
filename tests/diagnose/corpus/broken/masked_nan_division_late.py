"""A mean over the valid entries of each row; from the fifth batch on there is a row without any."""

import torch
from torch import nn

torch.manual_seed(0)
score = nn.Linear(4, 1)
opt = torch.optim.SGD(score.parameters(), lr=0.1)


def row_means(values, valid):
    weights = torch.sigmoid(values) * valid
    total = weights.sum(1)
    means = (weights * values).sum(1) / total  # or: masked-nan
    return means.masked_fill(~valid.any(1), 0.0)  # expect: masked-nan


for step in range(9):
    x = torch.randn(5, 6, 4)
    valid = torch.rand(5, 6) > 0.3
    if step >= 5:
        valid[1] = False
    loss = (row_means(score(x).squeeze(-1), valid) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
