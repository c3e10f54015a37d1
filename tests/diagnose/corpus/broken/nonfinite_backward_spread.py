import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
nn.init.zeros_(net[2].weight)
nn.init.zeros_(net[2].bias)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(6):
    z = net(torch.randn(32, 4))
    spread = z.var(0).sqrt()  # expect: nonfinite-backward
    loss = torch.relu(1 - spread).mean() + (z - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
