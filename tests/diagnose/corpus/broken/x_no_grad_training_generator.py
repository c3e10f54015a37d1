"""A generator of batches yields inside of no_grad(): gradients stay off in the loop that takes the batches."""
import torch
from torch import nn


def batches(encoder, x, size):
    for i in range(0, len(x), size):
        with torch.no_grad():  # expect: no-grad-training
            yield encoder(x[i:i + size])


torch.manual_seed(0)
encoder = nn.Linear(10, 6).requires_grad_(False)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for z in batches(encoder, torch.randn(64, 10), 16):
    loss = nn.functional.mse_loss(model(z), z)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
