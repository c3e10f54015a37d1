# the flag of a module
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


net = Net()
net.backbone.requires_grad = False  # expect: frozen backbone.0.weight backbone.0.bias
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(10):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
