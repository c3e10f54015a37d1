"""Standardisation of a table with a constant column: 0 / 0."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Table(Dataset):
    def __init__(self, rows):
        self.x = self.standardise(torch.tensor(rows))
        self.y = torch.tensor([r[0] * 2 - r[2] for r in rows])

    @staticmethod
    def standardise(x):
        return (x - x.mean(dim=0)) / x.std(dim=0)  # expect: nonfinite-forward

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


rows = [[float(i % 7), 1.0, float(i % 5)] for i in range(40)]
torch.manual_seed(0)
loader = DataLoader(Table(rows), batch_size=10, shuffle=True)
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for x, y in loader:
        loss = nn.functional.mse_loss(net(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
