"""A term of the loss is switched on with the wrong weight after some epochs."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(8, 2), nn.Linear(2, 8)
params = list(encoder.parameters()) + list(decoder.parameters())
optimizer = torch.optim.Adam(params, lr=1e-3)
data = torch.randn(64, 8)
for epoch in range(16):
    weight = 1e5 if epoch == 12 else 0.0  # or: norm-spike
    z = encoder(data)
    loss = (decoder(z) - data).pow(2).mean() + weight * z.pow(2).mean()
    for p in params:
        p.grad = None
    loss.backward()  # expect: norm-spike
    optimizer.step()  # or: norm-spike
