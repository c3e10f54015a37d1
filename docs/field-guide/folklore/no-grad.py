import torch

x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    y = (x * 2).sum()
print("grad_fn:", y.grad_fn, " requires_grad:", y.requires_grad)
try:
    y.backward()
except RuntimeError as error:
    print(str(error).partition(": ")[0])
