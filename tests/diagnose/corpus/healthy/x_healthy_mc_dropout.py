"""Uncertainty by Monte Carlo dropout: dropout deliberately stays on, the samples are averaged."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.linspace(-1, 1, 64).unsqueeze(1)
for _ in range(25):
    loss = nn.functional.mse_loss(model(x), x ** 2)
    opt.zero_grad()
    loss.backward()
    opt.step()


def enable_dropout(m):
    if isinstance(m, nn.Dropout):
        m.train()


model.eval()
model.apply(enable_dropout)
with torch.no_grad():
    samples = torch.stack([model(x) for _ in range(20)])
print(samples.mean(0).squeeze()[:3], samples.std(0).mean())
