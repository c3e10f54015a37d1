"""A student and a teacher that is its average, in one module that the optimizer has all of."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.student = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4))
        self.predictor = nn.Linear(4, 4)
        self.teacher = copy.deepcopy(self.student)
        for p in self.teacher.parameters():
            p.requires_grad = False

    @torch.no_grad()
    def update(self, tau=0.9):
        for a, b in zip(self.teacher.parameters(), self.student.parameters()):
            a.mul_(tau).add_(b, alpha=1 - tau)

    def forward(self, a, b):
        with torch.no_grad():
            goal = F.normalize(self.teacher(b), dim=1)
        return (F.normalize(self.predictor(self.student(a)), dim=1) - goal).pow(2).sum(1).mean()


torch.manual_seed(0)
pair = Pair()
optimizer = torch.optim.Adam(pair.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randn(8, 5)
    loss = pair(x + 0.1 * torch.randn_like(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    pair.update()
