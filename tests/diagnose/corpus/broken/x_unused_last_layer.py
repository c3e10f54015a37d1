"""A loop over the hidden layers that stops one too early."""
import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList()
        for a, b in zip(sizes, sizes[1:]):
            self.layers.append(nn.Linear(a, b))  # expect: unused layers.3.weight layers.3.bias
        self.out = nn.Linear(sizes[-1], 1)

    def forward(self, x):
        for i in range(len(self.layers) - 1):
            x = torch.relu(self.layers[i](x))
        return self.out(x)


torch.manual_seed(0)
net = MLP([4, 16, 16, 16, 16])
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(15):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(net(x), x.norm(dim=1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
