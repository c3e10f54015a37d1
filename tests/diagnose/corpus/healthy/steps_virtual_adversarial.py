"""Semi-supervised training: predictions of the model itself, in training mode and without gradients, are targets."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(15):
    x, y, unlabelled = torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.randn(16, 4)
    with torch.no_grad():
        target = model(unlabelled).softmax(1)
    noise = 0.1 * F.normalize(torch.randn_like(unlabelled))
    loss = F.cross_entropy(model(x), y) + F.kl_div(model(unlabelled + noise).log_softmax(1), target,
        reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
