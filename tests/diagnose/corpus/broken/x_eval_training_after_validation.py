"""After the first validation the network stays in evaluation mode: no dropout, no statistics of the batch."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.bn = nn.BatchNorm2d(6)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(6 * 16, 3)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        return self.fc(self.drop(x.flatten(1)))


def train_one_epoch(model, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    return loss.item()


def validate(model, loader):
    model.eval()  # expect: eval-training
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(loader.dataset)


torch.manual_seed(0)
x = torch.randn(100, 1, 6, 6)
y = x.mean(dim=(1, 2, 3)).mul(9).add(1.5).clamp(0, 2).long()
train_set, val_set = random_split(TensorDataset(x, y), [80, 20])
train_loader, val_loader = DataLoader(train_set, 16, shuffle=True), DataLoader(val_set, 20)
model = ConvNet()
model.train()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    print(epoch, train_one_epoch(model, train_loader, opt), validate(model, val_loader))
