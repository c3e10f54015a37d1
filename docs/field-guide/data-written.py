import torch

w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.01)
loss = (w * w).sum()
w.data.clamp_(max=1.0)
loss.backward()
print(w.grad)
optimizer.step()
