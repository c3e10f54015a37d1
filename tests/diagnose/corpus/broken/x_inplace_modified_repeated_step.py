"""The same loss is used for two steps; the first step has changed the weights that its graph has saved."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for it in range(3):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    for inner in range(2):
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()  # expect: inplace-modified
    print(it, loss.item())
