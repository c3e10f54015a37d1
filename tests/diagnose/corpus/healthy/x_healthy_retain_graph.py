"""retain_graph=True where it is needed: gradient norms of two losses on one trunk (GradNorm), then the sum."""
import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(5, 24), nn.Tanh())
heads = nn.ModuleList([nn.Linear(24, 1), nn.Linear(24, 1)])
opt = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=5e-3)
weights = [1.0, 1.0]
for it in range(20):
    x = torch.randn(32, 5)
    h = trunk(x)
    losses = [(heads[0](h) - x.sum(1, keepdim=True)).pow(2).mean(), (heads[1](h) - x[:, :1]).abs().mean()]
    norms = []
    for loss in losses:
        opt.zero_grad()
        loss.backward(retain_graph=True)
        norms.append(trunk[0].weight.grad.norm().item())
    weights = [0.9 * w + 0.1 * (sum(norms) / 2 / (n + 1e-8)) for w, n in zip(weights, norms)]
    opt.zero_grad()
    sum(w * loss for w, loss in zip(weights, losses)).backward()
    opt.step()
print(weights, [loss.item() for loss in losses])
