"""An attention pooling whose weights go through a Python list."""
import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(6, 1)
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        w = torch.softmax(self.score(x), dim=1)
        w = torch.tensor(w.tolist())  # expect: cut-item score.weight score.bias
        return self.out((w * x).sum(1))


torch.manual_seed(0)
net = Pool()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(10):
    x = torch.randn(16, 5, 6)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
