"""Two losses on one shared trunk, each with its own backward."""
import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(5, 16), nn.Tanh())
head_a, head_b = nn.Linear(16, 1), nn.Linear(16, 2)
optimizer = torch.optim.Adam([*trunk.parameters(), *head_a.parameters(), *head_b.parameters()], lr=1e-3)

for step in range(5):
    x = torch.randn(32, 5)
    h = trunk(x)
    loss_a = (head_a(h).squeeze(1) - x.sum(1)).pow(2).mean()
    loss_b = nn.functional.cross_entropy(head_b(h), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss_a.backward()  # or: backward-twice
    loss_b.backward()  # expect: backward-twice
    optimizer.step()
    print(step, loss_a.item(), loss_b.item())
