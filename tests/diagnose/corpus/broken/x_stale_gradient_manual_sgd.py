"""Polynomial regression with a hand-written update, without zeroing the gradients."""
import math

import torch

x = torch.linspace(-math.pi, math.pi, 500)
y = torch.sin(x)
torch.manual_seed(0)
a = torch.randn((), requires_grad=True)
b = torch.randn((), requires_grad=True)
c = torch.randn((), requires_grad=True)
d = torch.randn((), requires_grad=True)
params = [a, b, c, d]

learning_rate = 1e-6
for t in range(60):
    y_pred = a + b * x + c * x ** 2 + d * x ** 3
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= learning_rate * p.grad  # expect: stale-gradient a b c d
    if t % 20 == 19:
        print(t, loss.item())
print(f"y = {a.item()} + {b.item()} x + {c.item()} x^2 + {d.item()} x^3")
