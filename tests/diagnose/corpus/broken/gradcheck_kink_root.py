"""The square root at 0, where its slope is infinite."""

import torch

if __name__ == "__main__":
    r = torch.zeros(2, dtype=torch.float64)
    r[1] = 4.0
    r.requires_grad_(True)
    torch.autograd.gradcheck(torch.sqrt, [r])  # expect: gradcheck-kink
