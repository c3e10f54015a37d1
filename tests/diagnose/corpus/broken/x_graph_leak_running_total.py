"""The running loss of the epoch is summed as a tensor, in a meter class."""
import torch
from torch import nn


class AverageMeter:
    def __init__(self, name):
        self.name = name
        self.reset()

    def reset(self):
        self.sum, self.count = 0, 0

    def update(self, val, n=1):
        self.sum += val * n  # expect: graph-leak
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def train_epoch(model, batches, optimizer):
    meter = AverageMeter("loss")
    for x, y in batches:
        out = model(x)
        loss = nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss, x.size(0))
    return meter.avg


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = [(torch.randn(16, 10), torch.randn(16, 1)) for _ in range(30)]
for epoch in range(2):
    print(epoch, train_epoch(model, data, optimizer).item())
