"""The batch buffer is shared with NumPy and filled with the next batch before the backward of this one."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
buffer = np.zeros((16, 5), dtype=np.float32)
inputs = torch.from_numpy(buffer)
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)


def prefetch():
    buffer[:] = rng.normal(size=buffer.shape)  # expect: data-written


prefetch()
for i in range(12):
    target = inputs.sum(1, keepdim=True).clone()
    loss = nn.functional.mse_loss(net(inputs), target)
    prefetch()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
