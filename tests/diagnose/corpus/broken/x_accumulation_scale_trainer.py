"""A trainer with an option for accumulation; nobody divides by it, and the schedule was tuned for single batches."""
import torch
from torch import nn


class Trainer:
    def __init__(self, model, loss_fn, accumulate=1):
        self.model = model
        self.loss_fn = loss_fn
        self.accumulate = accumulate
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 8)
        self.micro = 0

    def forward_backward(self, batch):
        x, y = batch
        loss = self.loss_fn(self.model(x), y)
        loss.backward()  # expect: accumulation-scale
        self.micro += 1
        return loss.item()

    def maybe_step(self):
        if self.micro % self.accumulate:
            return
        self.optimizer.step()  # or: accumulation-scale
        self.optimizer.zero_grad()
        self.scheduler.step()

    def fit(self, batches):
        for n, batch in enumerate(batches):
            value = self.forward_backward(batch)
            self.maybe_step()
            print(n, value)


def batches(n):
    for _ in range(n):
        x = torch.randn(10, 4)
        yield x, x.sin().sum(1, keepdim=True)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
Trainer(net, nn.MSELoss(), accumulate=4).fit(batches(32))
