# the teacher, an average with batch norm, gives targets in training mode
import copy

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.detach_()
opt = torch.optim.SGD(student.parameters(), lr=0.05)
confidence = []
for step in range(30):
    x, u = torch.randn(16, 6), torch.randn(32, 6)
    y = x[:, :3].argmax(1)
    with torch.no_grad():
        soft = teacher(u + 0.1 * torch.randn_like(u)).softmax(-1)
    confidence.append(soft.max(-1).values.mean().item())
    mask = soft.max(-1).values > 0.5
    loss = F.cross_entropy(student(x), y)
    if mask.any():
        loss = loss + F.cross_entropy(student(u)[mask], soft.argmax(-1)[mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.mul_(0.95).add_(s, alpha=0.05)
