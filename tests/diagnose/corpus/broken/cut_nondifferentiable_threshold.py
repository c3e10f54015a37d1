"""A gate that is thresholded: the gate's weights get no gradient."""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 8)
        self.body = nn.Linear(4, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        open_ = (torch.sigmoid(self.gate(x)) > 0.5).float()  # expect: cut-nondifferentiable gate.weight gate.bias
        return self.out(open_ * self.body(x))


torch.manual_seed(0)
model = Gated()
optimizer = torch.optim.Adam(model.parameters())


def train(steps):
    for _ in range(steps):
        x = torch.randn(5, 4)

        def closure():
            optimizer.zero_grad()
            loss = (model(x) - x[:, :1]).pow(2).mean()
            loss.backward()
            return loss

        optimizer.step(closure)


train(6)
