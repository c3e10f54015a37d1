"""A layer that warms up by counting its calls: the recomputation counts, too, and computes something else."""
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class WarmupMix(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)
        self.calls = 0

    def forward(self, x):
        self.calls += 1  # expect: checkpoint-impure
        alpha = min(1.0, self.calls / 20)
        return (1 - alpha) * x + alpha * torch.tanh(self.lin(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix1, self.mix2 = WarmupMix(6), WarmupMix(6)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        x = checkpoint(self.mix1, x, use_reentrant=False)  # or: checkpoint-impure
        x = checkpoint(self.mix2, x, use_reentrant=False)  # or: checkpoint-impure
        return self.head(x)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for i in range(10):
    x = torch.randn(20, 6)
    loss = nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
