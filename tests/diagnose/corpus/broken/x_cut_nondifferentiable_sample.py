"""A stochastic autoencoder with sample() in the place of rsample()."""
import torch
from torch import nn
from torch.distributions import Normal


class StochasticAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Linear(8, 3)
        self.log_std = nn.Linear(8, 3)
        self.dec = nn.Linear(3, 8)

    def forward(self, x):
        q = Normal(self.mu(x), self.log_std(x).clamp(-4, 1).exp())
        z = q.sample()  # expect: cut-nondifferentiable mu.weight mu.bias log_std.weight log_std.bias
        return self.dec(z)


torch.manual_seed(0)
ae = StochasticAE()
opt = torch.optim.Adam(ae.parameters(), lr=1e-2)
mix = torch.randn(2, 8)
for i in range(15):
    x = torch.randn(32, 2) @ mix
    loss = (ae(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
