"""The factor that LambdaLR is given is a learning rate: what is left is the product of both."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)
base = 1e-4


def noam(step):
    warm = 10
    return base * min((step + 1) / warm, 1.0)


enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0), 2)
head = nn.Linear(16, 4)
opt = torch.optim.AdamW(list(enc.parameters()) + list(head.parameters()), lr=base)  # expect: update-ratio
sched = LambdaLR(opt, noam)  # or: update-ratio
for i in range(40):
    x = torch.randn(8, 6, 16)
    y = x[:, 0, :4].argmax(-1)
    loss = nn.functional.cross_entropy(head(enc(x).mean(1)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()  # or: update-ratio
    sched.step()
    if not i % 10:
        print(i, loss.item(), sched.get_last_lr())
