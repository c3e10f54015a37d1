"""A forward hook keeps the activations for an analysis after the training."""
import torch
from torch import nn

activations = {}


def save(name):
    def hook(module, inputs, output):
        activations.setdefault(name, []).append(output)  # expect: graph-leak
    return hook


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
for name, module in net.named_children():
    if isinstance(module, nn.ReLU):
        module.register_forward_hook(save(name))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 8)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(activations["1"]), activations["1"][-1].mean().item())
