"""Early stopping that keeps the best weights, which are the model's own tensors."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.05)
x, y, other, wanted = torch.randn(16, 5), torch.randn(16, 1), torch.randn(16, 5), torch.randn(16, 1)
best, least = None, float("inf")
for step in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        measured = nn.functional.mse_loss(model(other), wanted).item()
    if measured < least:
        least, best = measured, model.state_dict()  # expect: state-not-copied
model.load_state_dict(best)
