"""Distillation in which the student's side of the divergence is detached, not the teacher's."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
student = nn.Linear(6, 4)
teacher.requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), lr=0.1)


def kd_loss(s, t, T=2.0):
    log_p = F.log_softmax(s / T, dim=-1).detach()  # expect: cut-detach weight bias
    q = F.softmax(t / T, dim=-1)
    return F.kl_div(log_p, q, reduction="batchmean") * T ** 2


for i in range(5):
    x = torch.randn(32, 6)
    loss = kd_loss(student(x), teacher(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
