"""The encoder runs without gradients, as when its features were fixed; but it shall be trained."""

import torch
from torch import nn


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.decoder = nn.Linear(16, 5)

    def features(self, x):
        with torch.no_grad():  # expect: cut-no-grad encoder.0.weight encoder.0.bias
            return self.encoder(x)

    def forward(self, x):
        return self.decoder(self.features(x))


torch.manual_seed(0)
model = Captioner()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(5):
    loss = nn.functional.cross_entropy(model(torch.randn(4, 8)), torch.randint(5, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
