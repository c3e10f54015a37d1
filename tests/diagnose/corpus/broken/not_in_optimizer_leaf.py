"""A model of plain tensors; the bias was forgotten."""

import torch

torch.manual_seed(0)
X = torch.randn(100, 2)
Y = X @ torch.tensor([2.0, -3.4]) + 4.2
w = torch.normal(0, 0.01, (2,), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
trainer = torch.optim.SGD([w], lr=0.03)  # expect: not-in-optimizer b
for epoch in range(3):
    for i in range(0, 100, 10):
        loss = ((X[i : i + 10] @ w + b - Y[i : i + 10]) ** 2 / 2).mean()
        trainer.zero_grad()
        loss.backward()
        trainer.step()
