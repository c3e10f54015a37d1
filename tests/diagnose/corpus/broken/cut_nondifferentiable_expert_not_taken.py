# a mixture that picks one expert by a number
import torch
from torch import nn

torch.manual_seed(0)


class Hard(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Linear(4, 1) for _ in range(3))

    def pick(self, x):
        return self.router(x.mean(0)).argmax().item()  # expect: cut-nondifferentiable router.weight router.bias

    def forward(self, x):
        return self.experts[self.pick(x)](x)


net = Hard()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.ones(8, 4) + 0.01 * torch.randn(8, 4)
    loss = (net(x).squeeze(1) - x.sum(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
