"""Binary cross-entropy by hand: log(1 - p) of a sigmoid that rounds to 1."""
import torch


def bce(p, y):
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()  # expect: nonfinite-forward


torch.manual_seed(0)
x = torch.randn(64, 2)
x[10] = torch.tensor([900.0, 900.0])
y = (x[:, 0] + x[:, 1] < 0).float()
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.01)
for i in range(5):
    p = torch.sigmoid(x @ w)
    loss = bce(p, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
