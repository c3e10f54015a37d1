"""Masked means of ragged groups: 0 / 0 behind the where()."""
import torch
import torch.nn as nn


class SetEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.score = nn.Linear(16, 1)
        self.rho = nn.Linear(16, 2)

    def forward(self, x, mask):
        h = self.phi(x)
        w = torch.relu(self.score(h)).squeeze(-1) * mask
        total = w.sum(1, keepdim=True)
        share = w / total  # or: masked-nan
        share = torch.where(total > 0, share, torch.zeros_like(w))  # expect: masked-nan
        return self.rho((share.unsqueeze(-1) * h).sum(1))


def make(n):
    x = torch.randn(n, 5, 4)
    length = torch.randint(0, 6, (n,))
    mask = (torch.arange(5) < length[:, None]).float()
    return x, mask, (length > 2).long()


torch.manual_seed(0)
net = SetEncoder()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
for step in range(5):
    x, mask, y = make(32)
    loss = nn.functional.cross_entropy(net(x, mask), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
