"""Distillation: teacher trained first, then frozen in evaluation mode under no_grad; the student has dropout."""
import torch
from torch import nn, optim
from torch.nn import functional as F


def net(width, p):
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Dropout(p), nn.Linear(width, 3))


def data(n=48):
    x = torch.randn(n, 8)
    return x, x[:, :3].argmax(1)


torch.manual_seed(0)
teacher, student = net(64, 0.1), net(12, 0.1)
opt_t = optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(15):
    x, y = data()
    opt_t.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    opt_t.step()
teacher.eval().requires_grad_(False)
opt_s = optim.Adam(student.parameters(), lr=1e-2)
T = 3.0
for i in range(20):
    x, y = data()
    with torch.no_grad():
        soft = F.softmax(teacher(x) / T, dim=1)
    logits = student(x)
    loss = 0.5 * F.cross_entropy(logits, y) + 0.5 * T * T * F.kl_div(F.log_softmax(logits / T, dim=1), soft, reduction="batchmean")
    opt_s.zero_grad()
    loss.backward()
    opt_s.step()
    print(i, loss.item())
