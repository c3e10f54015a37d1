import torch
from torch.autograd import gradcheck


def wave(t):
    return torch.sin(t) * t


t = torch.tensor([2.0e9, 3.1e9, 5.5e9], dtype=torch.float64, requires_grad=True)
print(gradcheck(wave, (t,), raise_exception=False))  # expect: gradcheck-precision
