import torch

x, w1, w2 = torch.ones(2, 3), torch.ones(3, 4, requires_grad=True), torch.ones(4, 1, requires_grad=True)
for detached in (False, True):
    w1.grad = w2.grad = None
    h = torch.relu(x @ w1)
    (h.detach() if detached else h).matmul(w2).sum().backward()
    print("detached" if detached else "whole   ", "W1:", w1.grad is not None, " W2:", w2.grad is not None)
