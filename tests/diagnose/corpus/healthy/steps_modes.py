"""train() and eval() where they belong, in several styles."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = torch.randn(48, 4)
labels = (data[:, 0] > 0).long()


def evaluate():
    was = model.training
    model.eval()
    with torch.no_grad():
        loss = F.cross_entropy(model(data), labels).item()
    model.train(was)
    return loss


for epoch in range(3):
    for phase in ("train", "valid"):
        model.train(phase == "train")
        for x, y in zip(data.split(16), labels.split(16)):
            with torch.set_grad_enabled(phase == "train"):
                loss = F.cross_entropy(model(x), y)
                if phase == "train":
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
    print(epoch, evaluate())
