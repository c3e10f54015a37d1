"""A global flag flipped by the training loop between forward and backward is read in the checkpointed function."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

CONFIG = {"noise": 0.0, "scale": 1.0}
torch.manual_seed(0)
fc1, fc2 = nn.Linear(6, 12), nn.Linear(12, 1)


def block(x):
    return torch.tanh(fc1(x) * CONFIG["scale"])


opt = torch.optim.Adam([*fc1.parameters(), *fc2.parameters()], lr=1e-3)
for step in range(12):
    CONFIG["scale"] = 1.0
    x = torch.randn(16, 6)
    h = checkpoint(block, x, use_reentrant=False)
    loss = (fc2(h) - x.prod(1, keepdim=True)).pow(2).mean()
    CONFIG["scale"] = 0.5  # expect: checkpoint-impure
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
