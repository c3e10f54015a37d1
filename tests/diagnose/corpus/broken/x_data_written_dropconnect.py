"""A home-made dropout zeroes activations through .data after tanh has saved its output."""
import torch
import torch.nn as nn


def corrupt(h, p):
    mask = torch.rand_like(h) < p
    h.data[mask] = 0.0  # expect: data-written
    return h


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(10, 20)
        self.dec = nn.Linear(20, 10)

    def forward(self, x):
        h = torch.tanh(self.enc(x))
        if self.training:
            h = corrupt(h, 0.3)
        return self.dec(h)


torch.manual_seed(0)
net = Denoiser()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
mix = torch.randn(3, 10)
for epoch in range(20):
    x = torch.randn(32, 3) @ mix
    loss = nn.functional.mse_loss(net(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
