"""Linear regression by hand, with the mean of the squared error left out."""
import torch

torch.manual_seed(0)
X = torch.randn(64, 3)
y = X @ torch.tensor([1.0, -2.0, 3.0]) + 0.7
w = torch.zeros(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)


def squared_loss(prediction, target):
    return (prediction - target) ** 2 / 2  # or: non-scalar-backward


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


for epoch in range(3):
    for i in range(0, 64, 16):
        loss = squared_loss(X[i:i + 16] @ w + b, y[i:i + 16])
        loss.backward()  # expect: non-scalar-backward
        sgd([w, b], 0.1, 16)
    print(epoch, loss.mean().item())
