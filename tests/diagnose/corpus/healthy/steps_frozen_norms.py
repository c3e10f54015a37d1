"""Fine-tuning with batch norms that keep their statistics, and a frozen body in evaluation mode."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1))
        self.neck = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def train(self, mode=True):
        super().train(mode)
        self.body.eval()
        self.neck[1].eval()
        return self

    def forward(self, x):
        return self.head(self.neck(self.body(x)))


torch.manual_seed(0)
net = Net()
for p in net.body.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.05)
for epoch in range(2):
    net.train()
    for _ in range(5):
        x = torch.randn(8, 4)
        loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        print(net(torch.randn(8, 4)).argmax(1).tolist())
