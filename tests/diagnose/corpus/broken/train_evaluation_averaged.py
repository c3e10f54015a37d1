import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

class EMA:
    def __init__(self, model, decay=0.9):
        self.model, self.decay = copy.deepcopy(model), decay
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.model.parameters(), model.parameters()):
            e.mul_(self.decay).add_(p, alpha=1 - self.decay)
        for e, b in zip(self.model.buffers(), model.buffers()):
            e.copy_(b)

def net():
    return nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))

def augment(x, s):
    return x + s * torch.randn_like(x)

def pseudo(model, x):
    with torch.no_grad():
        p = model(augment(x, 0.05)).softmax(-1)
    conf, y = p.max(-1)
    return y, (conf > 0.4).float()

def step(model, opt, xl, yl, xu, lam=1.0):
    logits = model(augment(xl, 0.05))
    sup = F.cross_entropy(logits, yl)
    y, m = pseudo(model, xu)
    unsup = (F.cross_entropy(model(augment(xu, 0.5)), y, reduction="none") * m).mean()
    loss = sup + lam * unsup
    opt.zero_grad()
    loss.backward()
    opt.step()

torch.manual_seed(1)
model = net()
ema = EMA(model)
opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True)
W = torch.randn(8, 3)
for i in range(15):
    xl, xu = torch.randn(16, 8), torch.randn(48, 8)
    step(model, opt, xl, (xl @ W).argmax(1), xu)
    ema.update(model)
with torch.no_grad():
    x = torch.randn(64, 8)
    print((ema.model(x).argmax(1) == (x @ W).argmax(1)).float().mean().item())  # expect: train-evaluation
