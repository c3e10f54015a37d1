# physics-informed: the derivative is taken without create_graph, so the residual has no history
import torch
from torch import nn

torch.manual_seed(0)
u = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
k = nn.Parameter(torch.tensor(0.5))
opt = torch.optim.Adam([*u.parameters(), k], lr=1e-3)
for _ in range(10):
    t = torch.rand(32, 1, requires_grad=True)
    y = u(t)
    dy, = torch.autograd.grad(y.sum(), t, retain_graph=True)
    loss = (dy + k * y.detach()).pow(2).mean()  # expect: cut-detach 0.weight 0.bias 2.weight 2.bias
    opt.zero_grad()
    loss.backward()
    opt.step()
