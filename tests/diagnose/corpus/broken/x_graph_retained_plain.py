"""retain_graph=True was put in against an error that has gone since."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    for b in range(5):
        x = torch.randn(20, 6)
        y = x[:, :3].argmax(1)
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward(retain_graph=True)  # expect: graph-retained
        opt.step()
    print(epoch, loss.item())
