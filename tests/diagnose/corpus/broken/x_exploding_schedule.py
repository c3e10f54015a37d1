"""The schedule multiplies instead of dividing: training blows up after epoch 6."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=20, gamma=4.0)
for step in range(200):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()  # or: exploding
    opt.step()  # expect: exploding
    sched.step()
    if step % 40 == 0:
        print(step, loss.item())
