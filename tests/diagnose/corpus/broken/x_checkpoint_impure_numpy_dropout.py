"""A checkpointed block draws its dropout mask from NumPy, whose state the checkpoint does not restore."""
import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        h = torch.relu(self.fc1(x))
        keep = np.random.rand(*h.shape) > 0.2  # expect: checkpoint-impure
        h = h * torch.from_numpy(keep).float() / 0.8
        return x + self.fc2(h)


class Net(nn.Module):
    def __init__(self, dim=8, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)  # or: checkpoint-impure
        return self.out(x)


np.random.seed(0)
torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(8):
    x = torch.randn(24, 8)
    loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
