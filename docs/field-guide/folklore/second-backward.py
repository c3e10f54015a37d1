import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x**2).sum()
loss.backward()
try:
    loss.backward()
except RuntimeError as error:
    print("x ** 2:", str(error).partition(" (")[0])
x.grad = None
loss = (x + 1).sum()
loss.backward()
loss.backward()
print("x + 1:", x.grad.tolist())
