"""Blocks are to be unfrozen one by one, but a module has no ``requires_grad`` that would do anything."""

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(12, 12) for _ in range(2))
        self.head = nn.Linear(12, 2)
    def forward(self, x):
        for b in self.blocks:
            x = x + torch.tanh(b(x))
        return self.head(x)

torch.manual_seed(0)
net = Net()
for b in net.blocks:
    b.requires_grad_(False)  # expect: frozen blocks.0.weight blocks.0.bias blocks.1.weight blocks.1.bias
opt = torch.optim.Adam(net.parameters(), lr=1e-3)  # or: frozen
x = torch.randn(60, 12)
y = (x[:, :6].sum(1) > 0).long()
for epoch in range(8):
    if epoch >= 2:
        for block in net.blocks[-(epoch // 2):]:
            block.requires_grad = True
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
