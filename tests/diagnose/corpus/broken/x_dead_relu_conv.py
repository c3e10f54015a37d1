"""A bias copied from another framework's checkpoint in the wrong sign kills a convolution."""
import torch
import torch.nn.functional as F
from torch import nn


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))  # expect: dead-relu
        return self.fc(x.mean(dim=(2, 3)))


torch.manual_seed(0)
net = CNN()
state = net.state_dict()
state["conv2.bias"] = torch.full((8,), -30.0)  # or: dead-relu
net.load_state_dict(state)  # or: dead-relu
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for i in range(10):
    x = torch.randn(16, 1, 8, 8)
    loss = F.cross_entropy(net(x), (x.mean(dim=(1, 2, 3)) > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
