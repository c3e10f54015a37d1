"""A learned position is used as an index into a table: long() has no gradient."""
import torch
from torch import nn


class Pointer(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.locate = nn.Linear(5, 1)
        self.table = nn.Parameter(torch.randn(size, 4))
        self.read = nn.Linear(4, 1)

    def forward(self, x):
        where = torch.sigmoid(self.locate(x)).squeeze(1) * (len(self.table) - 1)
        return self.read(self.table[where.long()])  # expect: cut-nondifferentiable locate.weight locate.bias


torch.manual_seed(0)
net = Pointer()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(15):
    x = torch.randn(48, 5)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
