"""The upper limit of a clamp is one of the inputs; checked by a helper that counts failures."""

import torch
from torch.autograd.gradcheck import GradcheckError


def clipped(x):
    return torch.clamp(x, -1.0, 1.0) * 2


failures = 0
for values in ([0.5, -0.25], [2.0, 1.0]):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    try:
        torch.autograd.gradcheck(clipped, (x,))  # expect: gradcheck-kink
    except GradcheckError:
        failures += 1
print(failures, "failures")
