"""Labels in a column."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 5), torch.randint(0, 3, (64, 1))
model = nn.Linear(5, 3)
loss = nn.functional.cross_entropy(model(x), y)  # expect: loss-target
loss.backward()
