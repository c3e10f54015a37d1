"""Full-batch training with the validation loss after every step."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(12, 5, 8), torch.randn(12, 1)
x_valid, y_valid = torch.randn(6, 5, 8), torch.randn(6, 1)
history = []
for step in range(6):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.inference_mode():
        valid = nn.functional.mse_loss(model(x_valid), y_valid)  # expect: train-evaluation
    history.append((loss.item(), valid.item()))
