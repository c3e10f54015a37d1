"""F.dropout without training=: it drops in evaluation, too."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 16), nn.Linear(16, 1)

    def forward(self, x):
        h = F.dropout(torch.relu(self.a(x)), 0.5)  # expect: train-evaluation
        return self.b(h)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.01)
x, y = torch.randn(32, 5), torch.randn(32, 1)
for epoch in range(3):
    net.train()
    for _ in range(6):
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        print("validation", F.mse_loss(net(x), y).item())
