"""The first step is so large that no unit fires afterwards."""

import torch
import torch.nn as nn

torch.manual_seed(5)
data = torch.rand(256, 6) * 10
label = data.sum(1, keepdim=True) * 3

net = nn.Sequential(
    nn.Linear(6, 30),
    nn.ReLU(),
    nn.Linear(30, 30),
    nn.ReLU(),
    nn.Linear(30, 1),
)
sgd = torch.optim.SGD(net.parameters(), lr=0.05)  # expect: update-ratio
for epoch in range(30):
    sgd.zero_grad()
    pred = net(data)
    loss = nn.MSELoss()(pred, label)
    loss.backward()
    sgd.step()  # or: update-ratio
    print(epoch, loss.item())
