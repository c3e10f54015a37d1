"""The softmax is taken over the batch."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = x[:, :3].argmax(1)
model = nn.Linear(5, 3)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for step in range(10):
    log_p = F.log_softmax(model(x), dim=0)  # expect: loss-input
    loss = F.nll_loss(log_p, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
