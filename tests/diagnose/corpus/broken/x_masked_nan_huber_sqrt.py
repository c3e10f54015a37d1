"""A loss that takes the root for large errors and the square for small ones, by where()."""
import torch
from torch import nn


class RootLoss(nn.Module):
    def forward(self, pred, target):
        e = (pred - target).abs()
        root = torch.sqrt(e - 0.5)  # or: masked-nan
        return torch.where(e > 1, root, e * e).mean()  # expect: masked-nan


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
criterion = RootLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(5):
    x = torch.randn(40, 3)
    loss = criterion(net(x), 2 * x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
