"""Fine-tuning: the head is exchanged by a function that is called too late."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 10), nn.ReLU())
        self.fc = nn.Linear(10, classes)

    def forward(self, x):
        return self.fc(self.features(x))


def adapt(net, classes):
    net.fc = nn.Linear(net.fc.in_features, classes)  # expect: optimizer-holds-other fc.weight fc.bias
    return net


def train():
    torch.manual_seed(0)
    net = Classifier(100)
    groups = [{"params": net.features.parameters(), "lr": 1e-4}, {"params": net.fc.parameters()}]
    opt = torch.optim.Adam(groups)  # or: optimizer-holds-other
    net = adapt(net, 3)  # or: optimizer-holds-other
    for _ in range(5):
        loss = nn.functional.cross_entropy(net(torch.randn(9, 6)), torch.randint(0, 3, (9,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


train()
