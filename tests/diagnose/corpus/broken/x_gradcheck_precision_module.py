"""The inputs are double, but the layer casts to float inside of its forward()."""
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        x = x.float()  # or: gradcheck-precision
        weight = torch.softmax(self.q(x) @ self.k(x).transpose(-1, -2), dim=-1)
        return weight @ x


def check(module, *shape):
    x = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(module, x)  # expect: gradcheck-precision


torch.manual_seed(0)
print(check(Attention(4), 2, 3, 4))
