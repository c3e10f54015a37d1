"""Monte Carlo dropout, and batch-norm statistics that are measured anew when training is over."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
batches = [torch.randn(16, 3) for _ in range(5)]
for x in batches * 2:
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model.train()
model[1].reset_running_stats()
with torch.no_grad():
    for x in batches:
        model(x)

model.eval()
model[3].train()
x = torch.randn(8, 3)
with torch.no_grad():
    samples = torch.stack([model(x) for _ in range(20)])
print(samples.std(0).mean().item())
