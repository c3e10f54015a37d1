"""Knowledge distillation. Gradients are off for the teacher, and the student's body still runs there."""
import torch
from torch import nn, optim
import torch.nn.functional as F


def mlp(width):
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = mlp(12)
        self.head = nn.Linear(12, 4)


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = mlp(48)
        self.head = nn.Linear(48, 4)

    def forward(self, x):
        return self.head(self.body(x))


def distill(teacher, student, batches, T=2.0):
    teacher.eval()
    optimizer = optim.Adam(student.parameters(), lr=3e-3)
    for x in batches:
        torch.set_grad_enabled(False)  # expect: cut-no-grad body.0.weight body.0.bias body.2.weight body.2.bias
        soft = F.softmax(teacher(x) / T, dim=1)
        h = student.body(x)
        torch.set_grad_enabled(True)
        logits = student.head(h)
        loss = F.kl_div(F.log_softmax(logits / T, dim=1), soft, reduction="batchmean") * T * T
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


torch.manual_seed(0)
print(list(distill(Teacher(), Student(), [torch.randn(32, 8) for _ in range(12)])))
