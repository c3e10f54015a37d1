import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))


def freeze(layers):
    for layer in layers:
        layer.requires_grad = False  # expect: frozen 0.weight 0.bias 2.weight 2.bias


def thaw_only(module):
    for p in module.parameters():
        p.requires_grad = True


freeze(net[:4])
thaw_only(net[4])
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(10):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
