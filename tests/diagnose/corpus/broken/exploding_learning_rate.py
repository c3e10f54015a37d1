"""Plain gradient descent with a step that is too large: every step makes the error larger."""

import torch

torch.manual_seed(0)
x = torch.randn(64, 5) * 3
y = x @ torch.tensor([[1.0], [-2.0], [0.5], [0.0], [3.0]])
w = torch.zeros(5, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
sgd = torch.optim.SGD([w, b], lr=0.9)
for epoch in range(60):
    loss = torch.mean((x @ w + b - y) ** 2)
    sgd.zero_grad()
    loss.backward()  # or: exploding
    sgd.step()  # expect: exploding
