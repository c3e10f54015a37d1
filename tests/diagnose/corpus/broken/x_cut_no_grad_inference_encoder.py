"""The encoder runs in inference mode for speed, then shall be trained: its outputs cannot be saved for backward."""
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
decoder = nn.Linear(12, 6)
optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=1e-3)
for step in range(5):
    x = torch.randn(16, 6)
    with torch.inference_mode():  # expect: cut-no-grad
        z = encoder(x)
    loss = nn.functional.mse_loss(decoder(z), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
