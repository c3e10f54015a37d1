"""Probabilities become exactly 0 after some steps; their logarithm is -inf. Not in the first steps."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        return torch.softmax(self.body(x), dim=1)


def nll(probabilities, labels):
    logs = torch.log(probabilities)  # expect: nonfinite-forward
    return -logs.gather(1, labels[:, None]).mean()


torch.manual_seed(3)
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(9):
    x = torch.randn(12, 6)
    labels = torch.randint(0, 3, (12,))
    if step == 5:
        x[4] = torch.full((6,), 2e4)
        labels[4] = int(model(x)[4].argmin())
    loss = nll(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
