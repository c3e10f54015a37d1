"""SGD by hand in which only the weight's gradient is zeroed."""
import torch

torch.manual_seed(0)
W = torch.zeros(4, 3, requires_grad=True)
b = torch.zeros(3, requires_grad=True)
X = torch.randn(90, 4)
Y = X[:, :3].argmax(1)
for epoch in range(15):
    logits = X @ W + b
    loss = torch.nn.functional.cross_entropy(logits, Y)
    loss.backward()
    W.data -= 0.5 * W.grad.data
    b.data -= 0.5 * b.grad.data  # expect: stale-gradient b
    W.grad.data.zero_()
    print(epoch, loss.item())
