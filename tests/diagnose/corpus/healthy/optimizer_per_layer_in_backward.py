# the step of each layer is made inside of the backward
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
opts = {p: torch.optim.SGD([p], lr=0.05, foreach=False) for p in net.parameters()}

def hook(p):
    opts[p].step()
    opts[p].zero_grad()

for p in net.parameters():
    p.register_post_accumulate_grad_hook(hook)
for _ in range(15):
    x = torch.randn(16, 3)
    (net(x)[:, 0] - x[:, 0]).pow(2).mean().backward()
