"""The new head is made before the loop that freezes 'the backbone': everything is frozen."""
import torch
from torch import nn


def resnet_like():
    m = nn.Module()
    m.features = nn.Sequential(nn.Linear(9, 18), nn.ReLU())
    m.fc = nn.Linear(18, 100)
    return m


torch.manual_seed(0)
model = resnet_like()
model.fc = nn.Linear(18, 2)
for param in model.parameters():
    param.requires_grad = False  # expect: frozen
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)  # or: frozen
for epoch in range(3):
    x = torch.randn(20, 9)
    loss = nn.functional.cross_entropy(model.fc(model.features(x)), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
