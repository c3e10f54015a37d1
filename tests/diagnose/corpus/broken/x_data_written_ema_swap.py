"""Mean teacher: the averaged weights are copied into the student through .data between forward and backward."""
import copy

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = copy.deepcopy(model)

    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.data.mul_(self.decay).add_(p.data, alpha=1 - self.decay)

    def apply_to(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            p.data.copy_(s.data)  # expect: data-written


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
ema = EMA(model)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(20):
    x = torch.randn(32, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    if step % 5 == 4:
        ema.apply_to(model)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
    print(step, loss.item())
