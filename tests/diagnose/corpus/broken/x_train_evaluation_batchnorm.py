"""Validation in training mode: the batch statistics of the validation data go into the running averages."""
import torch
import torch.nn as nn


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.up = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        return self.up(self.down(x))


class Runner:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.loss = nn.BCEWithLogitsLoss()

    def train(self, batches):
        self.model.train()
        for x, y in batches:
            self.opt.zero_grad()
            loss = self.loss(self.model(x), y)
            loss.backward()
            self.opt.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, batches):
        total = 0.0
        for x, y in batches:
            out = self.model(x)  # expect: train-evaluation
            total += ((out > 0).float() == y).float().mean().item()
        return total / len(batches)


def batches(n):
    result = []
    for _ in range(n):
        mask = (torch.rand(6, 1, 8, 8) > 0.6).float()
        result.append((mask + 0.4 * torch.randn_like(mask), mask))
    return result


torch.manual_seed(0)
runner, train, val = Runner(Segmenter()), batches(6), batches(2)
for epoch in range(3):
    print(epoch, runner.train(train), runner.evaluate(val))
