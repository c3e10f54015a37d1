import torch
from torch import nn

torch.manual_seed(0)
first, last = nn.Linear(4, 8), nn.Linear(8, 1)
nn.init.constant_(first.bias, -5.0)
optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
for step in range(4):
    hidden = torch.relu(first(torch.randn(16, 4)))
    loss = (last(hidden) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}, gradient of the first layer {first.weight.grad.norm().item():.1e}")
