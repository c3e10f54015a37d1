import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
nn.init.zeros_(net.weight)
nn.init.zeros_(net.bias)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    z = net(torch.randn(32, 4))
    z = (z - z.mean(0)) / z.std(0)  # expect: nonfinite-forward
    loss = (z.t() @ z / 32 - torch.eye(3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
