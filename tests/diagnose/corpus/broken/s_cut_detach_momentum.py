"""MoCo-like contrastive learning with a momentum encoder; the query side is detached by mistake."""
import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    dim: int = 16
    out: int = 8
    queue: int = 64
    tau: float = 0.2
    m: float = 0.99
    lr: float = 1e-2
    steps: int = 25


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fc1 = nn.Linear(10, cfg.dim)
        self.bn = nn.BatchNorm1d(cfg.dim)
        self.fc2 = nn.Linear(cfg.dim, cfg.out)

    def forward(self, x):
        return F.normalize(self.fc2(F.relu(self.bn(self.fc1(x)))), dim=1)


class MoCo(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.query = Encoder(cfg)
        self.key = copy.deepcopy(self.query)
        for p in self.key.parameters():
            p.requires_grad = False
        self.logit_scale = nn.Parameter(torch.zeros(()))
        self.register_buffer("queue", F.normalize(torch.randn(cfg.queue, cfg.out), dim=1))

    @torch.no_grad()
    def update_key(self):
        for q, k in zip(self.query.parameters(), self.key.parameters()):
            k.mul_(self.cfg.m).add_(q, alpha=1 - self.cfg.m)

    def forward(self, a, b):
        q = self.query(a)
        with torch.no_grad():
            self.update_key()
            k = self.key(b)
        pos = (q.detach() * k).sum(1, keepdim=True)  # expect: cut-detach query.fc1.weight query.fc1.bias query.bn.weight query.bn.bias query.fc2.weight query.fc2.bias
        neg = q.detach() @ self.queue.T  # or: cut-detach
        logits = torch.cat([pos, neg], 1) * self.logit_scale.exp() / self.cfg.tau
        self.queue = torch.cat([k, self.queue])[: self.cfg.queue].detach()
        return F.cross_entropy(logits, torch.zeros(len(a), dtype=torch.long))


def main():
    torch.manual_seed(0)
    cfg = Config()
    model = MoCo(cfg)
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=cfg.lr, momentum=0.9)
    for step in range(cfg.steps):
        x = torch.randn(32, 10)
        loss = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        opt.zero_grad()
        loss.backward()
        opt.step()


main()
