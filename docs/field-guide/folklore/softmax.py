import torch

x = torch.tensor([89.0, 0.0], requires_grad=True)
print("by hand:", (x.exp() / x.exp().sum()).tolist(), " softmax:", [round(v, 6) for v in x.softmax(0).tolist()])
torch.logsumexp(x, 0).backward()
print("gradient of logsumexp:", [round(v, 6) for v in x.grad.tolist()])
