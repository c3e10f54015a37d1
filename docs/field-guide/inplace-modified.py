import torch

torch.manual_seed(0)
x = torch.randn(3, requires_grad=True)
y = x.exp()
y += 1
loss = y.sum()
loss.backward()
