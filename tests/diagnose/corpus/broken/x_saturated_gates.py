import torch
from torch import nn


class LSTMCell(nn.Module):
    def __init__(self, n_in, n):
        super().__init__()
        self.gates = nn.Linear(n_in + n, 4 * n)
        nn.init.normal_(self.gates.weight, std=30.0)  # expect: saturated cell.gates.weight cell.gates.bias

    def forward(self, x, state):
        h, c = state
        i, f, g, o = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)  # or: saturated
        h = torch.sigmoid(o) * torch.tanh(c)  # or: saturated
        return h, c


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = LSTMCell(3, 12)
        self.out = nn.Linear(12, 1)

    def forward(self, xs):
        h = c = torch.zeros(xs.shape[0], 12)
        for t in range(xs.shape[1]):
            h, c = self.cell(xs[:, t], (h, c))
        return self.out(h)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(8):
    x = torch.randn(16, 10, 3)
    loss = nn.functional.mse_loss(net(x), x.mean((1, 2))[:, None])
    opt.zero_grad()
    loss.backward()
    opt.step()
