"""gradcheck of a soft threshold, at points that lie on its corner."""
import torch
from torch.autograd import gradcheck


def soft_threshold(x, lam=0.5):
    return torch.sign(x) * torch.relu(x.abs() - lam)  # or: gradcheck-kink


points = torch.tensor([-1.5, -0.5, 0.2, 0.5, 2.0], dtype=torch.double, requires_grad=True)
print("gradients are right:", gradcheck(soft_threshold, (points,), eps=1e-6))  # expect: gradcheck-kink
