"""The auxiliary loss is added as a number."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(5, 12)
        self.classes = nn.Linear(12, 3)
        self.boxes = nn.Linear(12, 4)

    def forward(self, x):
        h = torch.relu(self.trunk(x))
        return self.classes(h), self.boxes(h)


torch.manual_seed(0)
net = TwoHeads()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(6):
    x, y, b = torch.randn(10, 5), torch.randint(3, (10,)), torch.randn(10, 4)
    scores, boxes = net(x)
    loss_c = F.cross_entropy(scores, y)
    loss_b = F.smooth_l1_loss(boxes, b)
    loss = loss_c + loss_b.item()  # expect: cut-item boxes.weight boxes.bias
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
