"""A closure-style train step with gradient clipping; a merge left a second step() in it."""
import torch
from torch import nn


def make_trainer(model, lr):
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=10, gamma=0.5)

    def train_step(x, y):
        model.train()
        opt.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.step()  # expect: stale-gradient 0.weight 0.bias 2.weight 2.bias
        schedule.step()
        return loss.detach()

    return train_step


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 12), nn.SiLU(), nn.Linear(12, 1))
train_step = make_trainer(model, 0.05)
for i in range(20):
    x = torch.randn(32, 5)
    y = (x.sum(1, keepdim=True) > 0).float()
    print(i, float(train_step(x, y)))
