"""A student learns from a teacher, which runs without gradients."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3)).eval()
student = nn.Linear(4, 3)
optimizer = torch.optim.SGD(student.parameters(), lr=0.5)


@torch.inference_mode()
def labels(x):
    return F.softmax(teacher(x) / 2, dim=-1)


for _ in range(8):
    x = torch.randn(16, 4)
    loss = F.kl_div(F.log_softmax(student(x) / 2, dim=-1), labels(x).clone(), reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
