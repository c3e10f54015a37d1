# 12 losses of one trunk, walked one by one in the order in which they were made
import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Linear(6, 16)
heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(12))
opt = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.01)
for _ in range(6):
    x = torch.randn(16, 6)
    h = torch.tanh(trunk(x))
    opt.zero_grad()
    for i, head in enumerate(heads):
        loss = (head(h).squeeze(1) - x[:, i % 6]).pow(2).mean() / 12
        loss.backward(retain_graph=i < 11)
    opt.step()
