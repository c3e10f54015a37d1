"""Self-supervised learning inside of one module: part of its forward runs without gradients, in training mode."""

import copy

import torch
from torch import nn


class Byol(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 4))
        self.predictor = nn.Linear(4, 4)
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False

    def forward(self, a, b):
        with torch.no_grad():
            goal = self.target(b)
            spread = self.online(b).std()
        return -torch.cosine_similarity(self.predictor(self.online(a)), goal).mean(), spread

    @torch.no_grad()
    def follow(self, rate=0.1):
        for p, q in zip(self.online.parameters(), self.target.parameters()):
            q += rate * (p - q)


torch.manual_seed(0)
byol = Byol()
optimizer = torch.optim.Adam([p for p in byol.parameters() if p.requires_grad], lr=1e-3)
for _ in range(15):
    x = torch.randn(16, 6)
    loss, _ = byol(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    byol.follow()
