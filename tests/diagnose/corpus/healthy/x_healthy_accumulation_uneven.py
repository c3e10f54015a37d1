"""Deliberate accumulation with division, clipping once per update, and a rest at the end of the epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(88, 6)
loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
accum = 4
for epoch in range(3):
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        size = accum if i < len(loader) // accum * accum else len(loader) % accum
        loss = nn.functional.cross_entropy(model(xb), yb)
        (loss / size).backward()
        if (i + 1) % accum == 0 or i + 1 == len(loader):
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    print(epoch, loss.item())
