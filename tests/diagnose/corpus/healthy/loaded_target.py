import torch
from torch import nn

torch.manual_seed(0)


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


online, target = net(), net()
target.load_state_dict(online.state_dict())
x = torch.randn(16, 4)
with torch.no_grad():
    assert torch.allclose(online(x), target(x), atol=1e-6)
    print((online(x) - target(x)).abs().max().item())
