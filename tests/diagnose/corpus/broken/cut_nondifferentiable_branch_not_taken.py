import torch
from torch import nn

torch.manual_seed(0)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        self.left = nn.Linear(4, 1)
        self.right = nn.Linear(4, 1)

    def forward(self, x):
        choice = self.gate(x.mean(0)).argmax()  # expect: cut-nondifferentiable gate.weight gate.bias
        return self.left(x) if choice == 0 else self.right(x)


torch.manual_seed(4)
net = Gated()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.ones(8, 4) + 0.01 * torch.randn(8, 4)
    loss = (net(x).squeeze(1) - x.sum(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
