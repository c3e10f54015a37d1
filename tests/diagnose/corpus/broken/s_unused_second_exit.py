import torch
from torch import nn


class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.b1 = nn.Linear(8, 16)
        self.e1 = nn.Linear(16, 4)
        self.b2 = nn.Linear(16, 16)
        self.e2 = nn.Linear(16, 4)

    def forward(self, x):
        h = torch.relu(self.b1(x))
        first = self.e1(h)
        h = torch.relu(self.b2(h))
        return {"exit1": first, "exit2": self.e2(h)}  # or: unused


def criterion(outputs, y):
    losses = {k: nn.functional.cross_entropy(v, y) for k, v in outputs.items()}
    return losses["exit1"]


torch.manual_seed(0)
net = EarlyExit()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(20):
    x, y = torch.randn(16, 8), torch.randint(0, 4, (16,))
    out = net(x)  # expect: unused b2.weight b2.bias e2.weight e2.bias
    loss = criterion(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
