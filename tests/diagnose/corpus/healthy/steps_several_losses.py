"""Several backward passes before a step that are no micro-batches: tasks, time steps, episodes, real and fake."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
trunk, heads = nn.Linear(4, 8), nn.ModuleList(nn.Linear(8, 1) for _ in range(3))
optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    x = torch.randn(8, 4)
    for i, head in enumerate(heads):
        F.mse_loss(head(torch.relu(trunk(x))), x[:, i : i + 1]).backward()
    optimizer.step()

policy = nn.Linear(3, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    for state in torch.randn(6, 3):
        d = torch.distributions.Categorical(logits=policy(state))
        a = d.sample()
        (-d.log_prob(a) * state.sum()).backward()
    optimizer.step()

cell, out = nn.GRUCell(2, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    h = torch.zeros(5, 4)
    for x in torch.randn(6, 5, 2):
        h = cell(x, h)
        F.mse_loss(out(h), x[:, :1]).backward()
        h = h.detach()
    optimizer.step()

w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    for x in torch.randn(10, 3):
        ((w @ x - x.sum()) ** 2).backward()
    optimizer.step()
