"""The loss is divided by eight, but a step is made after four micro-batches."""

import torch
from torch import nn

torch.manual_seed(0)
ACCUMULATE = 8
model = nn.Linear(10, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(32):
    x, y = torch.randn(4, 10), torch.randint(0, 3, (4,))
    loss = nn.functional.cross_entropy(model(x), y) / ACCUMULATE
    loss.backward()  # expect: accumulation-scale
    if i % (ACCUMULATE // 2) == ACCUMULATE // 2 - 1:
        opt.step()  # or: accumulation-scale
        opt.zero_grad()
