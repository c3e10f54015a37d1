"""Distillation by kl_div, both of whose arguments are logarithms."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
teacher, student = nn.Linear(5, 3), nn.Linear(5, 3)
optimizer = torch.optim.Adam(student.parameters(), 1e-2)
for step in range(10):
    x = torch.randn(32, 5)
    with torch.no_grad():
        soft = F.log_softmax(teacher(x) / 2, dim=1)
    loss = F.kl_div(F.log_softmax(student(x) / 2, dim=1), soft, reduction="batchmean")  # expect: loss-input
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
