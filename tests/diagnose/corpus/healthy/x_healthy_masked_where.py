"""where() with safe operands (the double where), log with eps, sqrt with eps, softmax of -inf masks."""
import torch
from torch import nn


def safe_log(x):
    positive = x > 0
    return torch.where(positive, torch.log(torch.where(positive, x, torch.ones_like(x))), torch.zeros_like(x))


class MaskedAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))

    def forward(self, x, mask):
        score = self.q(x) @ self.k(x).transpose(1, 2) / x.shape[-1] ** 0.5
        score = score.masked_fill(~mask[:, None, :], float("-inf"))
        return torch.softmax(score, dim=-1) @ self.v(x)


torch.manual_seed(0)
att, head = MaskedAttention(6), nn.Linear(6, 1)
opt = torch.optim.Adam([*att.parameters(), *head.parameters()], lr=3e-3)
for i in range(15):
    x = torch.randn(16, 5, 6)
    length = torch.randint(1, 6, (16,))
    mask = torch.arange(5) < length[:, None]
    rate = torch.relu(head(att(x, mask)[:, 0])).squeeze(1)
    count = torch.poisson(length.float())
    dist = torch.sqrt((rate - count).pow(2) + 1e-8)
    loss = (rate - count * safe_log(rate)).mean() + 0.1 * dist.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
