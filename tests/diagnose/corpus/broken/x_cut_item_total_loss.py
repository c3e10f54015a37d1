"""The losses of the heads are summed as numbers and made a tensor again, with requires_grad=True so that backward() works."""
import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Linear(6, 16)
heads = nn.ModuleList([nn.Linear(16, 1) for _ in range(3)])
params = list(trunk.parameters()) + list(heads.parameters())
optimizer = torch.optim.Adam(params, lr=1e-2)
x = torch.randn(64, 6)
targets = [x.sum(1, keepdim=True), x.prod(1, keepdim=True), x[:, :1]]

for it in range(10):
    optimizer.zero_grad()
    h = torch.tanh(trunk(x))
    total = 0
    for head, target in zip(heads, targets):
        total += nn.functional.mse_loss(head(h), target).item()  # expect: cut-item
    loss = torch.tensor(total, requires_grad=True)
    loss.backward()
    optimizer.step()
    print(it, loss.item())
