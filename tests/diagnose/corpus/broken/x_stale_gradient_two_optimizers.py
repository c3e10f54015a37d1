"""Encoder and head have an optimizer each; only the head's is zeroed."""
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.encoder = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
        self.head = nn.Linear(16, 1)
        self.opt_enc = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)
        self.opt_head = torch.optim.SGD(self.head.parameters(), lr=1e-2)

    def step(self, x, y):
        self.opt_head.zero_grad()
        loss = nn.functional.l1_loss(self.head(self.encoder(x)), y)
        loss.backward()
        self.opt_enc.step()  # expect: stale-gradient 0.weight 0.bias
        self.opt_head.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer()
for i in range(15):
    x = torch.randn(32, 6)
    print(i, trainer.step(x, x.sum(1, keepdim=True)))
