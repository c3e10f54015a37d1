"""Pure checkpoints of a part of the network, with dropout, in both forms."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Dropout(0.2), nn.Linear(2 * size, size))

    def forward(self, x, scale=1.0):
        return x + scale * self.mlp(self.norm(x))


class Net(nn.Module):
    def __init__(self, size=6):
        super().__init__()
        self.inner = nn.Linear(3, size)
        self.blocks = nn.ModuleList([Block(size) for _ in range(4)])
        self.head = nn.Linear(size, 1)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        h = self.inner(x)
        for i, block in enumerate(self.blocks):
            h = checkpoint(block, h, use_reentrant=i % 2 == 0) if i < 3 else block(h, 0.5)
        return self.head(h)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for _ in range(5):
    loss = net(torch.randn(7, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
chain = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)))
optimizer = torch.optim.SGD(chain.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    checkpoint_sequential(chain, 2, torch.randn(5, 4), use_reentrant=False).pow(2).mean().backward()
    optimizer.step()
