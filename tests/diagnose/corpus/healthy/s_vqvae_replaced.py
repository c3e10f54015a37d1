"""A codebook that learns as a moving average: the forward puts a new parameter in the place of the old one."""

import torch
from torch import nn
from torch.nn import functional as F


class QuantizerEMA(nn.Module):
    def __init__(self, codes, dim, decay=0.99):
        super().__init__()
        self.embedding = nn.Embedding(codes, dim)
        self.embedding.weight.data.normal_()
        self.register_buffer("size", torch.zeros(codes))
        self.total = nn.Parameter(torch.randn(codes, dim))
        self.decay = decay

    def forward(self, x):
        nearest = torch.cdist(x, self.embedding.weight).argmin(1)
        picked = F.one_hot(nearest, len(self.size)).float()
        quantized = picked @ self.embedding.weight
        if self.training:
            self.size = self.size * self.decay + (1 - self.decay) * picked.sum(0)
            self.total = nn.Parameter(self.total * self.decay + (1 - self.decay) * picked.t() @ x)
            self.embedding.weight = nn.Parameter(self.total / (self.size + 1e-5).unsqueeze(1))
        loss = 0.25 * F.mse_loss(quantized.detach(), x)
        return loss, x + (quantized - x).detach()


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(6, 4), nn.Linear(4, 6)
        self.quantize = QuantizerEMA(8, 4)

    def forward(self, x):
        loss, q = self.quantize(self.encode(x))
        return loss, self.decode(q)


torch.manual_seed(0)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(30):
    x = torch.randn(32, 6)
    commitment, out = model(x)
    loss = F.mse_loss(out, x) + commitment
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
