"""Masks have no dimension of channels, the output has one."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for step in range(8):
    images = torch.rand(4, 3, 8, 8)
    masks = (images.mean(1) > 0.5).float()
    predicted = model(images).sigmoid()
    loss = nn.functional.l1_loss(predicted, masks)  # expect: accidental-broadcast
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
