"""gradcheck of pooling on integers: the windows have ties."""
import torch
from torch import nn


def check_module(module, shape):
    x = torch.arange(int(torch.tensor(shape).prod()), dtype=torch.float64).remainder(2).view(shape).requires_grad_()
    return torch.autograd.gradcheck(module, (x,))  # expect: gradcheck-kink


print(check_module(nn.Tanh(), (2, 4)))
print(check_module(nn.MaxPool2d(2), (1, 1, 4, 4)))
