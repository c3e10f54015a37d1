"""A linear layer normalised by a power iteration: the iteration may be without gradients, the weight may not."""

import torch
import torch.nn as nn
import torch.nn.functional as F

class SNLinear(nn.Module):
    """spectrally normalised linear, power iteration by hand"""
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i) * i ** -0.5)
        self.bias = nn.Parameter(torch.zeros(o))
        self.register_buffer("u", F.normalize(torch.randn(o), dim=0))

    def normalized(self):
        with torch.no_grad():
            v = F.normalize(self.weight.t() @ self.u, dim=0)
            self.u.copy_(F.normalize(self.weight @ v, dim=0))
        w = self.weight.data  # expect: cut-data 0.weight
        sigma = self.u @ w @ v
        return w / sigma

    def forward(self, x):
        return F.linear(x, self.normalized(), self.bias)

torch.manual_seed(0)
critic = nn.Sequential(SNLinear(6, 32), nn.LeakyReLU(0.1), nn.Linear(32, 1))
opt = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
for i in range(20):
    real = torch.randn(32, 6) + 1
    fake = torch.randn(32, 6)
    loss = critic(fake).mean() - critic(real).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss)
