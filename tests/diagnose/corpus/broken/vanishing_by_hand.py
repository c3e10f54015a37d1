"""Ten layers written out one by one, with small weights and tanh."""

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(10):
            layer = nn.Linear(20, 20)
            nn.init.normal_(layer.weight, std=0.03)
            setattr(self, f"fc{i}", layer)
        self.out = nn.Linear(20, 1)

    def forward(self, x):
        x = torch.tanh(self.fc0(x))
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        x = torch.tanh(self.fc3(x))
        x = torch.tanh(self.fc4(x))
        x = torch.tanh(self.fc5(x))
        x = torch.tanh(self.fc6(x))
        x = torch.tanh(self.fc7(x))
        x = torch.tanh(self.fc8(x))
        x = torch.tanh(self.fc9(x))
        return self.out(x)


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        x = torch.randn(16, 20)
        loss = (model(x) - x.sum(1, keepdim=True)).abs().mean()
        model.zero_grad()
        loss.backward()  # expect: vanishing
        optimizer.step()  # or: vanishing


torch.manual_seed(0)
train(Stack(), 6)
