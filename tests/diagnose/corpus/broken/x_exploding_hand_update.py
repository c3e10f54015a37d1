import torch

torch.manual_seed(0)
X = torch.randn(100, 3) * torch.tensor([1.0, 20.0, 3.0])
y = X @ torch.tensor([2.0, -1.0, 0.5]) + 1
w = torch.zeros(3, requires_grad=True)
b = torch.zeros((), requires_grad=True)
lr = 0.05
for epoch in range(100):
    pred = X @ w + b
    loss = ((pred - y) ** 2).mean()
    loss.backward()  # expect: exploding
    with torch.no_grad():
        w -= lr * w.grad  # or: exploding
        b -= lr * b.grad  # or: exploding
        w.grad.zero_()
        b.grad.zero_()
    if epoch % 20 == 0:
        print(epoch, loss.item())
