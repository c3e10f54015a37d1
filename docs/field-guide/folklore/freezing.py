import torch

a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
frozen = torch.full((2,), 3.0)
loss = (a * frozen * b).sum()
b.requires_grad_(False)
loss.backward()
print("a:", a.grad.tolist(), " b:", b.grad if b.grad is None else b.grad.tolist())
