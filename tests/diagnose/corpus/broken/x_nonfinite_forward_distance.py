"""Triplet loss with distances from the binomial formula: rounding makes some squares negative."""
import torch
import torch.nn as nn


class Metric(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        return self.net(x)


def distances(a, b):
    squared = (a * a).sum(1)[:, None] + (b * b).sum(1)[None] - 2 * a @ b.t()
    return torch.sqrt(squared - 1e-5)  # expect: nonfinite-forward


def batch_hard(z, label, margin=0.5):
    d = distances(z, z)
    same = label[:, None] == label[None]
    hardest_positive = (d * same).amax(1)
    hardest_negative = (d + 1e3 * same).amin(1)
    return torch.relu(hardest_positive - hardest_negative + margin).mean()


torch.manual_seed(0)
model = Metric()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for it in range(4):
    label = torch.arange(16) % 4
    x = nn.functional.one_hot(label, 4).float() + 0.1 * torch.randn(16, 4)
    loss = batch_hard(model(x), label)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
