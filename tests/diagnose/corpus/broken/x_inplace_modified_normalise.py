"""Embeddings are normalised in place, after norm() has saved them."""
import torch
from torch import nn


def normalise(z):
    length = z.norm(dim=1, keepdim=True)
    z /= length  # expect: inplace-modified
    return z


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 4)

    def forward(self, x):
        return normalise(self.f(x))


torch.manual_seed(0)
m = Model()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for i in range(3):
    a = torch.randn(12, 6)
    za, zb = m(a), m(a + 0.1 * torch.randn(12, 6))
    loss = nn.functional.cross_entropy(za @ zb.t(), torch.arange(12))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
