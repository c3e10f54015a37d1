"""SimCLR, BYOL and a moment queue on vectors."""

import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
projector = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))


def nt_xent(a, b, t=0.5):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.T / t
    sim.fill_diagonal_(-9e15)
    n = len(a)
    return F.cross_entropy(sim, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))


opt = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], 1e-3)
for _ in range(12):
    x = torch.randn(16, 8)
    loss = nt_xent(*(projector(encoder(x + 0.1 * torch.randn_like(x))) for _ in range(2)))
    opt.zero_grad()
    loss.backward()
    opt.step()
head = nn.Linear(16, 3)
for p in encoder.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(head.parameters(), 0.1)
for _ in range(5):
    with torch.no_grad():
        f = encoder(torch.randn(16, 8))
    loss = F.cross_entropy(head(f), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.k = copy.deepcopy(self.q)
        for p in self.k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(8, 64), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum(self):
        for a, b in zip(self.q.parameters(), self.k.parameters()):
            b.data = b.data * 0.99 + a.data * 0.01

    @torch.no_grad()
    def _enqueue(self, keys):
        p = int(self.ptr)
        self.queue[:, p : p + len(keys)] = keys.T
        self.ptr[0] = (p + len(keys)) % 64

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            self._momentum()
            k = F.normalize(self.k(b), dim=1)
        pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([pos, neg], dim=1) / 0.07
        self._enqueue(k)
        return logits, torch.zeros(len(a), dtype=torch.long)


moco = MoCo()
opt = torch.optim.SGD(moco.parameters(), 0.03, momentum=0.9)
for _ in range(12):
    x = torch.randn(16, 8)
    out, target = moco(x + 0.1 * torch.randn_like(x), x)
    loss = F.cross_entropy(out, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
