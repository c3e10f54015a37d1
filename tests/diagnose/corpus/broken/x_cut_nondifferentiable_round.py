"""Quantisation-aware training without a straight-through estimator: round() has a gradient of zero everywhere."""
import torch
from torch import nn
import torch.nn.functional as F


class QuantLinear(nn.Module):
    def __init__(self, n_in, n_out, bits=4):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / n_in ** 0.5)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.levels = 2 ** (bits - 1) - 1

    def forward(self, x):
        step = self.weight.detach().abs().max() / self.levels
        quantised = torch.round(self.weight / step) * step  # expect: cut-nondifferentiable fc1.weight fc2.weight
        return F.linear(x, quantised, self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = QuantLinear(6, 24)
        self.fc2 = QuantLinear(24, 1)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


torch.manual_seed(0)
net = Net()
sgd = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(20):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), (x ** 2).sum(1, keepdim=True) / 6)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
print(loss.item())
