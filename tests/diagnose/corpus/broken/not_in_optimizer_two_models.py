"""An encoder and a decoder are trained together; the optimizer was given the decoder only."""

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(10, 6), nn.Tanh(), nn.Linear(6, 2))
decoder = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 10))
optimizer = optim.Adam(decoder.parameters(), lr=1e-2)  # expect: not-in-optimizer 0.weight 0.bias 2.weight 2.bias
data = torch.randn(64, 10)
for epoch in range(3):
    for batch in data.split(16):
        code = encoder(batch)
        loss = nn.functional.mse_loss(decoder(code), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
