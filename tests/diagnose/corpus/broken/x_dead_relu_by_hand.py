import torch
from torch import nn


def relu(x):
    return x * (x > 0)  # expect: dead-relu


torch.manual_seed(0)
W1 = (torch.rand(16, 32) * -0.3).requires_grad_()
b1 = torch.zeros(32, requires_grad=True)
W2 = (torch.randn(32, 4) * 0.1).requires_grad_()
opt = torch.optim.SGD([W1, b1, W2], lr=0.1)
for step in range(15):
    x = torch.rand(20, 16)
    logits = relu(x @ W1 + b1) @ W2
    loss = nn.functional.cross_entropy(logits, x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
