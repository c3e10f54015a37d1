"""Loss divided by the number of micro batches and gradients divided again before the step."""
import torch
from torch import nn

torch.manual_seed(9)
net = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
K = 4
for step in range(20):
    opt.zero_grad()
    total = 0.0
    for k in range(K):
        x = torch.randn(16, 5)
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)) / K
        loss.backward()
        total += loss.item()
    for p in net.parameters():
        p.grad /= K
    opt.step()  # expect: accumulation-scale
    if step % 5 == 0:
        print(step, total)
