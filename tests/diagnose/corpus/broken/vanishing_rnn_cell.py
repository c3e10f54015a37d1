"""A simple recurrent cell has to remember the first of sixty inputs."""

import torch
from torch import nn

torch.manual_seed(0)
T, H = 60, 12
w_in = nn.Parameter(torch.randn(1, H) * 0.3)
w_rec = nn.Parameter(torch.randn(H, H) * 0.15)
w_out = nn.Parameter(torch.randn(H, 1) * 0.3)
opt = torch.optim.SGD([w_in, w_rec, w_out], lr=0.05, momentum=0.9)


def run(sequence):
    h = torch.zeros(sequence.shape[0], H)
    for t in range(T):
        h = torch.tanh(sequence[:, t] @ w_in + h @ w_rec)  # expect: vanishing
    return h @ w_out


for _ in range(5):
    x = torch.randn(8, T, 1)
    loss = (run(x) - x[:, 0]).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # or: vanishing
    opt.step()  # or: vanishing
