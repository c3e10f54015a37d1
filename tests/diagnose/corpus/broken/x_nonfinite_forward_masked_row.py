"""Softmax over a row whose entries all are masked with -inf."""
import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.out = nn.Linear(d, 2)

    def forward(self, x, lengths):
        s = self.score(x).squeeze(-1)
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        s = s.masked_fill(~mask, float("-inf"))
        w = torch.softmax(s, dim=1)  # expect: nonfinite-forward
        return self.out((w.unsqueeze(-1) * x).sum(1))


torch.manual_seed(0)
pool = Pool(5)
opt = torch.optim.Adam(pool.parameters(), lr=1e-3)
for i in range(6):
    x = torch.randn(10, 4, 5)
    lengths = torch.randint(1, 5, (10,))
    if i == 3:
        lengths[2] = 0
    loss = nn.functional.cross_entropy(pool(x, lengths), (x[:, 0, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
