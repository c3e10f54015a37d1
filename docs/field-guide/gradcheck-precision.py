import torch

torch.manual_seed(0)
x = torch.randn(3, requires_grad=True)
print(torch.autograd.gradcheck(torch.exp, (x,)))
