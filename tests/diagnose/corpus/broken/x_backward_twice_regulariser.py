"""The regulariser is computed once, before the loop."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(100, 20)
y = (X[:, 0] - X[:, 1] > 0).float()
W = torch.zeros(20, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([W, b], lr=0.1)
l2 = 0.01 * W.pow(2).sum()  # or: backward-twice
for epoch in range(10):
    logits = (X @ W + b).squeeze(1)
    loss = F.binary_cross_entropy_with_logits(logits, y) + l2
    opt.zero_grad()
    loss.backward()  # expect: backward-twice
    opt.step()
    print(epoch, loss.item())
