"""gradcheck of a custom Function with inputs in single precision."""
import torch
from torch.autograd import Function, gradcheck


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad):
        x, s = ctx.saved_tensors
        return grad * (s + x * s * (1 - s))


torch.manual_seed(0)
x = torch.randn(4, 5, requires_grad=True)
print(gradcheck(Swish.apply, (x,), eps=1e-6, atol=1e-4))  # expect: gradcheck-precision
