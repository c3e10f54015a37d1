"""The learning rate is far too large; that the activations saturate is what follows."""

import torch
from torch import nn

torch.manual_seed(0)


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(20, 10), nn.Tanh(), nn.Linear(10, 3))
        self.dec = nn.Sequential(nn.Linear(3, 10), nn.Tanh(), nn.Linear(10, 20))

    def forward(self, x):
        return self.dec(self.enc(x))


class Runner:
    def __init__(self, lr):
        self.net = AE()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)  # expect: update-ratio

    def step(self, x):
        self.opt.zero_grad()
        loss = nn.functional.mse_loss(self.net(x), x)
        loss.backward()
        self.opt.step()  # or: update-ratio
        return loss.item()


r = Runner(lr=1.0)
for i in range(30):
    print(i, r.step(torch.randn(64, 20) @ torch.randn(20, 20) * 0.2))
