"""A hinge loss, checked at its corner."""

import torch


def hinge(scores, signs):
    return torch.relu(1 - scores * signs).mean()  # or: gradcheck-kink


scores = torch.tensor([0.2, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
signs = torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64)
assert torch.autograd.gradcheck(lambda s: hinge(s, signs), (scores,))  # expect: gradcheck-kink
