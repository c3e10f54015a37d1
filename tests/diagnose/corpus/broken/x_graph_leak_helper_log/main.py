"""Training with a logger from a helper file."""
import torch
from logger import Logger
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.ELU(), nn.Linear(24, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02)
log = Logger()
for step in range(30):
    x = torch.randn(20, 5)
    out = net(x)
    loss = nn.functional.mse_loss(out, x.mean(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.record(step, loss=loss, mean=out.mean().item())
print(log.last("loss"))
