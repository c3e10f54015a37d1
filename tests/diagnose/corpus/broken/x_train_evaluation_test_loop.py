"""The test loop of a class: gradients off, dropout on (the author wrote self.net.eval without calling it)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Experiment:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(7, 40), nn.ReLU(), nn.Dropout(0.5), nn.Linear(40, 3))
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=1e-3)
        self.loss = nn.CrossEntropyLoss()

    def fit(self, loader):
        self.net.train()
        for x, y in loader:
            self.opt.zero_grad()
            loss = self.loss(self.net(x), y)
            loss.backward()
            self.opt.step()

    def test(self, loader):
        self.net.eval
        right = total = 0
        with torch.no_grad():
            for x, y in loader:
                right += (self.net(x).argmax(1) == y).sum().item()  # expect: train-evaluation
                total += len(y)
        return right / total


torch.manual_seed(0)
x = torch.randn(120, 7)
y = x[:, :3].argmax(1)
train, test = DataLoader(TensorDataset(x[:90], y[:90]), 15, shuffle=True), DataLoader(TensorDataset(x[90:], y[90:]), 15)
exp = Experiment()
for epoch in range(3):
    exp.fit(train)
    print(epoch, exp.test(test))
