"""MoCo: a momentum encoder under no_grad, a queue of keys in a buffer written in place."""
import copy

import torch
from torch import nn
from torch.nn import functional as F


class MoCo(nn.Module):
    def __init__(self, dim=8, size=64):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, dim))
        self.k = copy.deepcopy(self.q)
        for p in self.k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))
        self.ptr = 0

    @torch.no_grad()
    def momentum_update(self, m=0.95):
        for pq, pk in zip(self.q.parameters(), self.k.parameters()):
            pk.data = pk.data * m + pq.data * (1.0 - m)

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue[self.ptr:self.ptr + len(keys)] = keys
        self.ptr = (self.ptr + len(keys)) % len(self.queue)

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.k(b), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().detach().t()
        logits = torch.cat([pos, neg], 1) / 0.2
        self.enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(a), dtype=torch.long))


torch.manual_seed(0)
moco = MoCo()
opt = torch.optim.SGD(moco.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
for i in range(15):
    x = torch.randn(16, 10)
    loss = moco(x + 0.05 * torch.randn_like(x), x + 0.05 * torch.randn_like(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
