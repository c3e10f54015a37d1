"""Two layers by hand, without an optimizer, with what one logs and plots."""

import math

import numpy as np
import torch

torch.manual_seed(0)
w1 = torch.randn(3, 8, requires_grad=True)
b1 = torch.zeros(8, requires_grad=True)
w2 = (torch.randn(8, 1) * 0.1).requires_grad_()
curve, best = [], math.inf
for step in range(20):
    x = torch.randn(16, 3)
    y = x.pow(2).sum(1, keepdim=True)
    prediction = torch.relu(x @ w1 + b1) @ w2
    loss = (prediction - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for w in (w1, b1, w2):
            w -= 0.01 * w.grad
            w.grad.zero_()
    curve.append(np.log(loss.item()))
    best = min(best, float(loss))
    residual = (prediction.detach().numpy() - y.numpy()).std()
print(best, residual, np.mean(curve))
