import torch
from torch import nn

torch.manual_seed(0)
weight = nn.Parameter(torch.randn(8, 8))
optimizer = torch.optim.SGD([weight], lr=1e-3)
for step in range(4):
    state = torch.ones(1, 8)
    for time in range(40):
        state = state @ weight
    loss = state.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.1e}, gradient {weight.grad.norm().item():.1e}")
