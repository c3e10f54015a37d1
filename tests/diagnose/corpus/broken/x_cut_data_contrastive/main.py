"""Contrastive learning of two views with an InfoNCE loss."""
import torch
from losses import info_nce
from networks import Projector

torch.manual_seed(0)


def views(n):
    base = torch.randn(n, 10)
    return base + 0.1 * torch.randn(n, 10), base + 0.1 * torch.randn(n, 10)


net = Projector(10, 32, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=15)
for step in range(15):
    a, b = views(32)
    loss = info_nce(net(a), net(b), net.scale)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    print(step, round(loss.item(), 4))
