# the regulariser is summed as numbers
import torch
from torch import nn

torch.manual_seed(0)
centres = nn.Parameter(torch.randn(4, 3))
net = nn.Linear(5, 3)
opt = torch.optim.SGD([{"params": net.parameters()}, {"params": [centres]}], lr=0.1)

def repulsion(c):
    total = 0.0
    for i in range(len(c)):
        for j in range(i):
            total += 1 / (1 + (c[i] - c[j]).norm().item())  # expect: cut-item centres
    return total

for _ in range(10):
    z = net(torch.randn(16, 5))
    loss = z.pow(2).mean() + 0.1 * repulsion(centres)
    opt.zero_grad()
    loss.backward()
    opt.step()
