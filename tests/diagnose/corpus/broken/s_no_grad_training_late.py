import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 1))
        self.opt = torch.optim.Adam(self.model.parameters())
        self.step_no = 0

    def validate(self, x, y):
        torch.set_grad_enabled(False)  # expect: no-grad-training
        self.model.eval()
        loss = nn.functional.mse_loss(self.model(x), y)
        self.model.train()
        return loss.item()

    def train_step(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        if not loss.requires_grad:
            loss.requires_grad_()
        loss.backward()
        self.opt.step()
        self.step_no += 1


torch.manual_seed(0)
tr = Trainer()
for step in range(60):
    x = torch.randn(8, 5)
    tr.train_step(x, x.sum(1, keepdim=True))
    if step % 15 == 14:
        tr.validate(x, x.sum(1, keepdim=True))
