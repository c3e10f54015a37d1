import numpy as np
import torch
from torch import nn


class Smooth(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        h = self.fc(x)
        h = np.convolve(h.mean(0).numpy(), [0.5, 0.5], "same")  # expect: cut-numpy fc.weight fc.bias
        return self.out(torch.from_numpy(h))


net = Smooth()
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    loss = net(torch.randn(4, 6)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
