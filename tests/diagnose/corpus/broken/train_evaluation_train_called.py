import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = block(1, 4), block(4, 8), block(12, 4)
        self.head = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        u = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.head(self.c(torch.cat([u, a], 1)))

class Dice(nn.Module):
    def forward(self, logits, y):
        p = torch.sigmoid(logits).flatten(1)
        y = y.flatten(1)
        return (1 - (2 * (p * y).sum(1) + 1) / (p.sum(1) + y.sum(1) + 1)).mean()

class Meter:
    def __init__(self):
        self.values = []

    def add(self, v):
        self.values.append(v)

net, dice = Net(), Dice()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
meter = Meter()

def run(train):
    net.train()
    for _ in range(4):
        x = torch.rand(4, 1, 8, 8)
        y = (x > 0.5).float()
        with torch.set_grad_enabled(train):
            out = net(x)  # expect: train-evaluation
            loss = dice(out, y)
        if train:
            opt.zero_grad()
            loss.backward()
            opt.step()
        meter.add(loss.item())

for epoch in range(4):
    run(True)
    run(False)
