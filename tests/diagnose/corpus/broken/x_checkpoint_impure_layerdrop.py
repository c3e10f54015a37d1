"""LayerDrop with Python's random inside of a checkpointed function: the recomputation decides anew."""
import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Stack(nn.Module):
    def __init__(self, d, depth, drop):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(d, d), nn.Tanh()) for _ in range(depth)])
        self.drop = drop

    def run(self, x):
        for layer in self.layers:
            if self.training and random.random() < self.drop:  # expect: checkpoint-impure
                continue
            x = x + layer(x)
        return x

    def forward(self, x):
        return checkpoint(self.run, x, use_reentrant=True)  # or: checkpoint-impure


random.seed(1)
torch.manual_seed(0)
stack, inp, out = Stack(8, 4, 0.4), nn.Linear(3, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*stack.parameters(), *inp.parameters(), *out.parameters()], lr=1e-3)
for i in range(12):
    x = torch.randn(24, 3)
    loss = nn.functional.mse_loss(out(stack(inp(x))), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
