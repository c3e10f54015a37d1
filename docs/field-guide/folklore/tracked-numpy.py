import torch

x = torch.ones(2, requires_grad=True)
try:
    x.numpy()
except RuntimeError as error:
    print(str(error).partition(": ")[0])
