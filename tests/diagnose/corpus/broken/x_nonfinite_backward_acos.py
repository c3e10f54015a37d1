"""Angles between predicted and true directions by acos; the first prediction is already right for some samples."""
import torch
import torch.nn as nn


class AngularLoss(nn.Module):
    def forward(self, a, b):
        cos = nn.functional.cosine_similarity(a, b, dim=1)
        cos = cos.clamp(-1.0, 1.0)
        return torch.acos(cos).mean()  # expect: nonfinite-backward


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.fix = nn.Linear(3, 3)
        nn.init.zeros_(self.fix.weight)
        nn.init.zeros_(self.fix.bias)

    def forward(self, x):
        return x + self.fix(x)


torch.manual_seed(0)
x = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 2.0, 3.0], [0.5, -1.0, 0.2]])
goal = x.clone()
goal[2:] = goal[2:].roll(1, dims=1)
model, criterion = Residual(), AngularLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    loss = criterion(model(x), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
