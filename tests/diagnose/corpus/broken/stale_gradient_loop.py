"""zero_grad() stands before the loop instead of in it."""

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
opt = optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
inputs, labels = torch.randn(64, 5), torch.randint(0, 3, (64,))

for epoch in range(2):
    opt.zero_grad()
    for start in range(0, 64, 16):
        batch, target = inputs[start : start + 16], labels[start : start + 16]
        loss = F.cross_entropy(model(batch), target)
        loss.backward()
        opt.step()  # expect: stale-gradient 0.weight 0.bias 2.weight 2.bias
    print(epoch, loss.item())
