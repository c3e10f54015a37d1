"""A test of a hinge loss: one of the margins is exactly 1."""
import unittest

import torch


def hinge(scores, signs):
    return torch.clamp(1 - signs * scores, min=0).sum()  # or: gradcheck-kink


class TestHinge(unittest.TestCase):
    def test_value(self):
        value = hinge(torch.tensor([2.0, 0.5]), torch.tensor([1.0, 1.0]))
        self.assertAlmostEqual(value.item(), 0.5)

    def test_gradient(self):
        scores = torch.tensor([0.3, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
        signs = torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64)
        torch.autograd.gradcheck(hinge, (scores, signs))  # expect: gradcheck-kink


if __name__ == "__main__":
    unittest.main()
