"""A convolutional network with batch norm, dropout and pooling, trained one image at a time and in batches."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(inplace=True), nn.MaxPool2d(2),
    nn.Conv2d(6, 12, 3, padding=1), nn.ReLU(inplace=True), nn.Dropout2d(0.3), nn.AdaptiveAvgPool2d(2),
    nn.Flatten(), nn.Linear(48, 20), nn.ReLU(), nn.Dropout(0.5), nn.Linear(20, 5))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=6)
for step in range(25):
    n = 1 if step % 5 == 4 else 8
    images, labels = torch.randn(n, 1, 12, 12), torch.randint(0, 5, (n,))
    loss = nn.functional.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
