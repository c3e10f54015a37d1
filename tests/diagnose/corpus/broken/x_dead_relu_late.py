"""A warm-up that ends far too high; the units die around step 30."""
import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 40)
        self.fc2 = nn.Linear(40, 1)

    def forward(self, x):
        h = torch.relu(self.fc1(x))  # expect: dead-relu fc1.weight fc1.bias
        return self.fc2(h)


model = Model()
opt = torch.optim.SGD(model.parameters(), lr=3.0)  # or: dead-relu
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.003 if s < 30 else 1.0)
for step in range(250):
    x = torch.rand(32, 12) * 4
    y = -x.sum(1, keepdim=True)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
