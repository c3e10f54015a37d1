"""gradcheck of a module in its default precision; the tolerance was raised until a colleague asked why it still fails."""
import torch
from torch import nn
from torch.autograd import gradcheck

torch.manual_seed(0)
layer = nn.Sequential(nn.Conv1d(2, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(12, 2))
inputs = (torch.randn(2, 2, 6, requires_grad=True),)
ok = gradcheck(layer, inputs, eps=1e-6, atol=1e-4, raise_exception=False)  # expect: gradcheck-precision
print("gradcheck passed:", ok)
