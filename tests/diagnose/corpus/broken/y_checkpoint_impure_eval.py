"""The module's training flag is flipped before backward (validation between): dropout is off in the recomputation."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Dropout(0.3), nn.Linear(32, 32), nn.Tanh())
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(checkpoint(self.stage, x, use_reentrant=False))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
val = torch.randn(16, 6)
for step in range(12):
    x = torch.randn(16, 6)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    net.eval()  # expect: checkpoint-impure
    with torch.no_grad():
        v = net(val).mean().item()
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.train()
print(v)
