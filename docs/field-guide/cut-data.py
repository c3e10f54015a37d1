import torch

torch.manual_seed(0)
scale = torch.ones(3, requires_grad=True)
shift = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([scale, shift], lr=0.1)
for step in range(3):
    y = scale.data * torch.randn(5, 3) + shift
    loss = y.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("scale", scale.tolist(), "has the gradient", scale.grad)
