"""The blocks are kept in a plain list, so that parameters() does not have them."""
import torch
import torch.nn as nn


class DenseBlocks(nn.Module):
    def __init__(self, n_in, width, depth):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.blocks = [nn.Linear(width, width) for _ in range(depth)]  # expect: not-in-optimizer
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for block in self.blocks:
            x = x + torch.relu(block(x))
        return self.out(x)


torch.manual_seed(0)
net = DenseBlocks(5, 16, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
print(sum(p.numel() for p in net.parameters()), "parameters")
for i in range(20):
    x = torch.randn(32, 5)
    y = x[:, :1] * x[:, 1:2]
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
