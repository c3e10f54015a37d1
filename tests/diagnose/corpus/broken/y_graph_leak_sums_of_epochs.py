"""ReduceLROnPlateau-like scheduler of one's own keeps its window of losses as tensors (unbounded)."""
import torch
from torch import nn


class Plateau:
    def __init__(self, optimizer, patience=5, factor=0.5):
        self.optimizer, self.patience, self.factor = optimizer, patience, factor
        self.window = []

    def step(self, metric):
        self.window.append(metric)  # expect: graph-leak
        recent = self.window[-self.patience:]
        if len(recent) == self.patience and all(m >= recent[0] for m in recent[1:]):
            for g in self.optimizer.param_groups:
                g["lr"] *= self.factor


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.02)
plateau = Plateau(opt)
for epoch in range(25):
    total = 0
    for _ in range(3):
        x = torch.randn(16, 4)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total = total + loss / 3
    plateau.step(total)
print(opt.param_groups[0]["lr"])
