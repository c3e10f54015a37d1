"""A Function of one's own forgets the gradient of its second input."""

import torch
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gain):
        ctx.save_for_backward(gain)
        return x * gain

    @staticmethod
    def backward(ctx, grad):
        gain, = ctx.saved_tensors
        return grad * gain, None


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 2)
        self.gain = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return Scale.apply(self.linear(x), self.gain)  # expect: cut-nondifferentiable gain


torch.manual_seed(0)
layer = Layer()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(5):
    x = torch.randn(6, 4)
    loss = (layer(x) - 3 * x[:, :2]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
