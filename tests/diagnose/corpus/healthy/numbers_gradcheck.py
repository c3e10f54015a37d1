"""gradcheck as it should be, in float64 and away from kinks; and in float32 with a step that suits it."""

import warnings

import torch


class Softsign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x.abs())

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (1 + x.abs()) ** 2


x = torch.tensor([-1.5, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(Softsign.apply, (x,))
assert torch.autograd.gradgradcheck(torch.nn.functional.softplus, (x,))
warnings.simplefilter("ignore")
y = x.detach().float().requires_grad_()
assert torch.autograd.gradcheck(torch.sin, (y,), eps=1e-2, atol=1e-2, rtol=1e-2)
