"""Pixels of 0..255 go straight into a tanh layer."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 32)  # or: saturated
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = x.view(-1, 64)
        x = torch.tanh(self.fc1(x))  # expect: saturated
        return self.fc2(x)


torch.manual_seed(0)
labels = torch.randint(0, 4, (80,))
images = torch.randint(0, 120, (80, 8, 8)).float()
for i, c in enumerate(labels):
    images[i, c * 2:c * 2 + 2] += 130
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(5):
    for i in range(0, 80, 20):
        opt.zero_grad()
        loss = F.cross_entropy(net(images[i:i + 20]), labels[i:i + 20])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
