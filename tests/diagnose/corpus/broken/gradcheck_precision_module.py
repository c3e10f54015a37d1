"""A layer is checked in its default type."""

import torch
from torch import nn
from torch.autograd import gradcheck

torch.manual_seed(0)
layer = nn.Sequential(nn.Linear(3, 4), nn.Softplus())
x = torch.randn(2, 3, requires_grad=True)
ok = gradcheck(layer, (x,), raise_exception=False)  # expect: gradcheck-precision
print("gradients are", "right" if ok else "wrong")
