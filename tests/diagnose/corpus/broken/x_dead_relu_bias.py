"""The bias is initialised far below zero, to make the code sparse: no unit ever fires."""
import torch
import torch.nn as nn


class SparseAutoencoder(nn.Module):
    def __init__(self, n=12, code=32):
        super().__init__()
        self.encode = nn.Linear(n, code)
        self.decode = nn.Linear(code, n)
        nn.init.constant_(self.encode.bias, -8.0)  # or: dead-relu

    def forward(self, x):
        code = torch.relu(self.encode(x))  # expect: dead-relu
        return self.decode(code), code


torch.manual_seed(0)
model = SparseAutoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
mix = torch.randn(4, 12) * 0.5
for step in range(30):
    x = torch.randn(64, 4) @ mix
    recon, code = model(x)
    loss = nn.functional.mse_loss(recon, x) + 1e-3 * code.abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), (code > 0).float().mean().item())
