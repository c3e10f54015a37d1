"""A layer is added at the first forward, when its size is known; the optimizer was built before."""
import torch
from torch import nn


class Flexible(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 3, 3)
        self.fc = None

    def forward(self, x):
        h = torch.relu(self.conv(x)).flatten(1)
        if self.fc is None:
            self.fc = nn.Linear(h.shape[1], 2)  # or: not-in-optimizer
        return self.fc(h)


torch.manual_seed(0)
model = Flexible()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)  # expect: not-in-optimizer fc.weight fc.bias
for i in range(10):
    x = torch.randn(16, 1, 9)
    loss = nn.functional.cross_entropy(model(x), (x.mean(dim=(1, 2)) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
