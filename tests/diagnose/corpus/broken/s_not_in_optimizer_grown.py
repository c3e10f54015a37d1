import torch
from torch import nn

torch.manual_seed(0)


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 16)])
        self.out = nn.Linear(16, 1)

    def grow(self):
        self.layers.append(nn.Linear(16, 16))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x)


net = Growing()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)  # expect: not-in-optimizer
for epoch in range(4):
    for _ in range(10):
        x = torch.randn(32, 4)
        loss = (net(x) - x.prod(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch == 1:
        net.grow()
