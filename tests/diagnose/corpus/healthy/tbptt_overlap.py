# windows that share steps: the losses of all are collected before the step
import torch
from torch import nn

torch.manual_seed(0)
cell, read = nn.GRUCell(2, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*cell.parameters(), *read.parameters()], lr=1e-3)
LENGTH, STRIDE = 8, 4
for epoch in range(6):
    series = torch.randn(40, 3, 2)
    opt.zero_grad()
    h = torch.zeros(3, 8)
    outs = []
    for t, x in enumerate(series):
        if t % 16 == 0:
            h = h.detach()
        h = cell(x, h)
        outs.append((read(h) - x.mean(1, keepdim=True)).pow(2).mean())
        if t + 1 >= LENGTH and (t + 1) % STRIDE == 0:
            last = t + 1 == len(series)
            (sum(outs[-LENGTH:]) / LENGTH / 9).backward(retain_graph=not last)
    opt.step()
