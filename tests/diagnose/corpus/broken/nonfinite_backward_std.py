"""A penalty on the deviation of features within a batch; one feature is constant, and sqrt has no derivative at 0."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
with torch.no_grad():
    encoder[0].weight[2].zero_()
    encoder[0].bias[2] = 0.0
decoder = nn.Linear(6, 6)
opt = torch.optim.SGD([{"params": encoder.parameters()}, {"params": decoder.parameters()}], lr=0.01)
for step in range(200):
    x = torch.rand(16, 6)
    z = encoder(x)
    spread = z.var(dim=0).sqrt()  # expect: nonfinite-backward
    loss = (decoder(z) - x).pow(2).mean() + torch.relu(1 - spread).mean()
    if torch.isnan(loss):
        break
    opt.zero_grad()
    loss.backward()
    opt.step()
