"""float16 inputs, with tolerances that seem generous."""

import torch
from torch.autograd.gradcheck import GradcheckError, gradcheck

a = torch.tensor([0.5, 1.5, 2.5], dtype=torch.float16, requires_grad=True)
try:
    gradcheck(lambda t: (t * t).sum(), [a], eps=1e-3, atol=1e-2)  # expect: gradcheck-precision
except GradcheckError:
    print("failed")
