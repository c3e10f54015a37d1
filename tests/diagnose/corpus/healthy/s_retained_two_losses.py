import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
a, b = nn.Linear(16, 1), nn.Linear(16, 2)
opt_e = torch.optim.SGD(enc.parameters(), 0.01)
opt_a, opt_b = torch.optim.SGD(a.parameters(), 0.01), torch.optim.SGD(b.parameters(), 0.01)
for step in range(30):
    x = torch.randn(32, 6)
    h = enc(x)
    la = (a(h) - x[:, :1]).pow(2).mean()
    lb = nn.functional.cross_entropy(b(h), (x[:, 1] > 0).long())
    for o in (opt_e, opt_a, opt_b):
        o.zero_grad()
    la.backward(retain_graph=True)
    lb.backward()
    for o in (opt_e, opt_a, opt_b):
        o.step()
