"""Second derivatives of a custom function, in float32."""

import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def check():
    x = torch.linspace(0.5, 2, 4).requires_grad_()
    return torch.autograd.gradgradcheck(Cube.apply, x)  # expect: gradcheck-precision


try:
    check()
except RuntimeError as error:
    print(str(error).splitlines()[0])
