"""The gradient norm of the input is asked for after the backward, for the log."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 10), nn.Linear(10, 1)

    def forward(self, x):
        return self.b(torch.sigmoid(self.a(x)))


def log_input_gradient(loss, x):
    (g,) = torch.autograd.grad(loss, x)  # expect: backward-twice
    return g.norm().item()


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(3):
    x = torch.randn(12, 5, requires_grad=True)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # or: backward-twice
    opt.step()
    print(i, loss.item(), log_input_gradient(loss, x))
