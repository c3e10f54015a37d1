"""A well-trained model passes a steep place of the loss: one gradient is large, no loss is, and Adam goes on."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
scale = nn.Parameter(torch.zeros(4, 4))
optimizer = torch.optim.Adam([*model.parameters(), scale], lr=1e-3)
losses = []
for step in range(60):
    x = torch.randn(32, 4)
    loss = (model(x) - x.sum(1, keepdim=True).tanh()).pow(2).mean()
    # a distance that is tiny once, as between two inducing points that meet
    distance = (scale - scale.detach() + (1e-6 if step == 40 else 1.0)).log().mean()
    loss = loss + 1e-3 * (distance - distance.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[::10])
