"""Encoder and decoder as two networks, one closure; the encoder's parameters are forgotten."""
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 3))
decoder = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 10))
optimizer = torch.optim.LBFGS(decoder.parameters(), max_iter=4, lr=0.5)  # expect: not-in-optimizer 0.weight 0.bias 2.weight 2.bias
basis = torch.randn(3, 10)
x = torch.randn(40, 3) @ basis
for epoch in range(4):
    def closure():
        optimizer.zero_grad()
        encoder.zero_grad()
        loss = nn.functional.mse_loss(decoder(encoder(x)), x)
        loss.backward()
        return loss
    print(epoch, optimizer.step(closure).item())
