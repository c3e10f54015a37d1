"""K-fold training in which the model's mode is set by a flag with the wrong default."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Dropout(0.3))
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.body(x))


def fit(x, y, training=False):
    model = Net()
    model.train(training)  # expect: eval-training
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


torch.manual_seed(0)
x = torch.randn(60, 8)
y = x.sum(1, keepdim=True)
for k in range(2):
    val = torch.arange(60) % 2 == k
    model = fit(x[~val], y[~val]).eval()
    with torch.no_grad():
        print(k, nn.functional.mse_loss(model(x[val]), y[val]).item())
