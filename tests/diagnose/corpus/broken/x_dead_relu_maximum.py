import torch
from torch import nn


class Value(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 32)
        self.second = nn.Linear(32, 1)
        with torch.no_grad():
            self.first.bias.sub_(50.0)  # or: dead-relu

    def forward(self, s):
        h = torch.maximum(self.first(s), torch.zeros(1))  # expect: dead-relu first.weight first.bias
        return self.second(h)


torch.manual_seed(0)
v = Value()
opt = torch.optim.Adam(v.parameters(), lr=1e-3)
for t in range(20):
    s = torch.randn(16, 3)
    loss = (v(s) - s.norm(dim=1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
