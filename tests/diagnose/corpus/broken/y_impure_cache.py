"""A checkpointed decoder caches keys between calls: the recomputation sees the cache."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class CachedAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.cache = None

    def forward(self, x):
        k, v = self.k(x), self.v(x)
        if self.cache is not None:
            k = k + 0.1 * self.cache
        self.cache = k.detach().mean(0, keepdim=True)  # expect: checkpoint-impure
        w = (self.q(x) @ k.transpose(-1, -2) / 4).softmax(-1)
        return x + w @ v


torch.manual_seed(0)
att, head = CachedAttention(8), nn.Linear(8, 1)
opt = torch.optim.SGD([*att.parameters(), *head.parameters()], lr=0.05)
for _ in range(10):
    x = torch.randn(4, 5, 8)
    y = checkpoint(att, x, use_reentrant=False)
    loss = (head(y).squeeze(-1) - x.mean(-1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
