import torch
from torch import nn


def sigmoid(z):
    return 1 / (1 + torch.exp(-z))  # expect: nonfinite-backward


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 20)
        self.out = nn.Linear(20, 1)

    def forward(self, x):
        return self.out(sigmoid(self.hidden(x)))


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(10):
    x = torch.rand(40, 5) * 300 - 150
    y = x.sum(1, keepdim=True) / 50
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
