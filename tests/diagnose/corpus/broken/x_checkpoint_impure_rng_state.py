"""Dropout in a checkpoint that was told not to preserve the random state, 'because it is faster'."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Dropout(0.4))
        self.stage2 = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.4))
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        x = self.stage1(x)
        x = checkpoint(self.stage2, x, use_reentrant=False, preserve_rng_state=False)  # expect: checkpoint-impure
        return self.head(x)


encoder = Encoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(32, 7)
    loss = nn.functional.mse_loss(encoder(x), x.max(dim=1, keepdim=True).values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
