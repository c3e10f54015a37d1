"""A checkpoint that is made early and written at the end."""

import io

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x, y = torch.randn(16, 5), torch.randn(16, 1)
for step in range(20):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 10:
        checkpoint = {"step": step, "model": model.state_dict()}  # expect: state-not-copied
torch.save(checkpoint, io.BytesIO())
