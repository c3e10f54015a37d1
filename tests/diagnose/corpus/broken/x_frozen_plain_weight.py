"""Logistic regression by hand: w was made without requires_grad."""
import torch

torch.manual_seed(0)
X = torch.randn(200, 3)
y = (X @ torch.tensor([2.0, -1.0, 0.5]) + 0.3 > 0).float()

w = torch.randn(3) * 0.1  # expect: frozen w
b = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([w, b], lr=0.5)  # or: frozen

for step in range(40):
    p = torch.sigmoid(X @ w + b)
    loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("accuracy", ((p > 0.5).float() == y).float().mean().item())
