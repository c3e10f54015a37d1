import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
warm = torch.optim.lr_scheduler.LinearLR(opt, start_factor=1e-6, total_iters=20)
cos = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=25, T_mult=2)
sched = torch.optim.lr_scheduler.SequentialLR(opt, [warm, cos], milestones=[20])
for step in range(200):
    x = torch.randn(64, 10)
    loss = (model(x) - x[:, :3].sum(1, keepdim=True).sin()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
print(loss.item())
