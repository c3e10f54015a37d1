"""The outputs of an ensemble are joined with torch.tensor, which copies numbers."""

import torch
from torch import nn

torch.manual_seed(0)
members = nn.ModuleList(nn.Linear(3, 1) for _ in range(2))
mixer = nn.Linear(2, 1)
optimizer = torch.optim.SGD([*members.parameters(), *mixer.parameters()], lr=0.1)
for _ in range(6):
    x = torch.randn(3)
    outputs = [m(x).squeeze() for m in members]
    joined = torch.tensor(outputs)  # expect: cut-new-tensor 0.weight 0.bias 1.weight 1.bias
    loss = (mixer(joined) - x.sum()).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
