"""Predictions by a method of the model, with gradients switched off by a call; dropout still drops."""

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))

    def forward(self, x):
        return self.layers(x)

    def predict(self, x):
        return self(x).argmax(1)  # expect: train-evaluation


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    for _ in range(4):
        loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.set_grad_enabled(False)
    print(net.predict(torch.randn(5, 4)))  # or: train-evaluation
    torch.set_grad_enabled(True)
