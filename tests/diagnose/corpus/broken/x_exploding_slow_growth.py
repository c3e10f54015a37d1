import torch
from torch import nn

torch.manual_seed(0)


class IRNN(nn.Module):
    """A recurrent net with ReLU, started above the identity."""

    def __init__(self, n):
        super().__init__()
        self.inp = nn.Linear(1, n)
        self.rec = nn.Linear(n, n, bias=False)
        with torch.no_grad():
            self.rec.weight.copy_(1.15 * torch.eye(n) + 0.02 * torch.randn(n, n))  # or: exploding
        self.out = nn.Linear(n, 1)

    def forward(self, xs):
        h = torch.zeros(xs.shape[1], self.rec.in_features)
        for t in range(len(xs)):
            h = torch.relu(self.inp(xs[t]) + self.rec(h))  # expect: exploding
        return self.out(h)


model = IRNN(24)
opt = torch.optim.SGD(model.parameters(), lr=1e-12)
for step in range(6):
    xs = torch.rand(110, 8, 1)
    loss = (model(xs) - xs.sum(0)).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # or: exploding
    opt.step()  # or: exploding
