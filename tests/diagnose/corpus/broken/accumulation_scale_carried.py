"""Ten batches an epoch, steps after four: the two that are left over go into the first step of the next epoch."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(10)]
optimizer.zero_grad()
for epoch in range(4):
    for i, (x, y) in enumerate(batches):
        loss = nn.functional.mse_loss(model(x), y) / 4
        loss.backward()  # or: accumulation-scale
        if (i + 1) % 4 == 0:
            optimizer.step()  # expect: accumulation-scale
            optimizer.zero_grad()
