"""Leaf tensors are converted to double after the optimizer was built."""
import torch

torch.manual_seed(0)
w = torch.randn(5, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([w, b], lr=0.1)  # or: optimizer-holds-other
x = torch.randn(60, 5, dtype=torch.double)
y = x.sum(1, keepdim=True)
w = w.detach().double().requires_grad_()  # expect: optimizer-holds-other
b = b.detach().double().requires_grad_()  # or: optimizer-holds-other
for epoch in range(10):
    loss = ((x @ w + b - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    w.grad = b.grad = None
    print(epoch, loss.item())
