"""A tie for the maximum."""

import torch
from torch.autograd import gradcheck


class Peak(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.max_pool1d(x, 2)  # or: gradcheck-kink


x = torch.tensor([[[1.0, 1.0, 3.0, 2.0]]], dtype=torch.double).requires_grad_()
passed = gradcheck(Peak(), x, raise_exception=False)  # expect: gradcheck-kink
print(passed)
