"""The schedule of a Transformer, in its warm-up of 4000 steps: the rate has not risen yet."""

import torch
from torch import nn

torch.manual_seed(0)
d, warm = 32, 4000
net = nn.Sequential(nn.Linear(8, d), nn.LayerNorm(d), nn.GELU(), nn.Linear(d, 4))
opt = torch.optim.Adam(net.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
sch = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: d**-0.5 * min((s + 1) ** -0.5, (s + 1) * warm**-1.5) * 0.01)
for i in range(60):
    x = torch.randn(32, 8)
    loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sch.step()
print(loss.item(), sch.get_last_lr())
