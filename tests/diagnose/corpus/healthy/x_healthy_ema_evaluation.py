"""EMA of the weights, swapped in for the evaluation and back out, through .data as many repositories do."""
import torch
from torch import nn


class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {n: p.data.clone() for n, p in model.named_parameters() if p.requires_grad}
        self.backup = {}

    def update(self):
        for n, p in self.model.named_parameters():
            self.shadow[n] = (1.0 - self.decay) * p.data + self.decay * self.shadow[n]

    def apply_shadow(self):
        for n, p in self.model.named_parameters():
            self.backup[n] = p.data
            p.data = self.shadow[n]

    def restore(self):
        for n, p in self.model.named_parameters():
            p.data = self.backup[n]
        self.backup = {}


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
ema = EMA(model, 0.9)
opt = torch.optim.SGD(model.parameters(), lr=0.02)
x_val = torch.randn(50, 4)
for epoch in range(4):
    for _ in range(6):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update()
    ema.apply_shadow()
    model.eval()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(x_val), x_val.sum(1, keepdim=True)).item())
    model.train()
    ema.restore()
