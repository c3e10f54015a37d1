"""All weights of a convolution are negative, its inputs are pixels."""

import torch
import torch.nn.functional as F
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.conv.weight.data = -self.conv.weight.data.abs()
        self.conv.bias.data.fill_(-0.2)
        self.fc = nn.Linear(8 * 6 * 6, 4)

    def forward(self, images):
        x = F.relu(self.conv(images))  # expect: dead-relu conv.weight conv.bias
        return self.fc(x.flatten(1))


torch.manual_seed(0)
model = Small()
sgd = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(6):
    images, labels = torch.rand(8, 1, 8, 8), torch.randint(0, 4, (8,))
    loss = F.cross_entropy(model(images), labels)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
