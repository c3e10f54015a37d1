import torch

w = torch.zeros(2, requires_grad=True)
(w * torch.tensor([0.5, -0.3])).sum().backward()
(w * torch.tensor([0.1, 0.2])).sum().backward()
print([round(v, 3) for v in w.grad.tolist()])
