"""Second derivatives: a gradient penalty, and grad() of the same graph for several outputs."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 16), nn.Softplus(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
for _ in range(6):
    x = torch.randn(8, 3, requires_grad=True)
    score = critic(x)
    (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
    loss = score.mean() + 10 * (slope.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
x = torch.randn(4, 3, requires_grad=True)
out = critic(x).sum(0)
y = torch.stack([x.sum(), x.pow(2).sum()])
rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(2)]
print(torch.stack(rows).shape, torch.autograd.grad(out[0], x)[0].shape)
