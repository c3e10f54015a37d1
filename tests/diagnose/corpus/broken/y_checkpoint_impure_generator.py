"""Data augmentation with np.random.default_rng stored on the module, inside of the checkpoint."""
import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Jitter(nn.Module):
    def __init__(self, std, seed=0):
        super().__init__()
        self.std, self.rng = std, np.random.default_rng(seed)

    def forward(self, x):
        if not self.training:
            return x
        noise = self.rng.standard_normal(tuple(x.shape))  # expect: checkpoint-impure
        return x + self.std * torch.as_tensor(noise, dtype=x.dtype)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage = nn.Sequential(nn.Linear(5, 16), Jitter(0.1), nn.ReLU(), nn.Linear(16, 16))
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(checkpoint(self.stage, x, use_reentrant=False))


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(12):
    x = torch.randn(8, 5)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
