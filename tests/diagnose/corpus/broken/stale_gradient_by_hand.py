"""Linear regression with plain tensors, whose gradients are never cleared."""

import torch

torch.manual_seed(1)
x = torch.linspace(-1, 1, 50).unsqueeze(1)
y = 3 * x + 0.5 + 0.1 * torch.randn_like(x)
w = torch.zeros(1, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.01
for i in range(20):
    pred = x @ w + b
    loss = ((pred - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad  # expect: stale-gradient w b
        b -= lr * b.grad  # or: stale-gradient
    if i % 5 == 0:
        print(i, float(loss))
