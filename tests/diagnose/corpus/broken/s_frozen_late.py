import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
X, Y = torch.randn(60, 5), torch.randn(60, 1)


def set_trainable(m, flag):
    for p in m.parameters():
        p.requires_grad_(flag)  # expect: frozen 0.weight 0.bias 2.weight 2.bias


for epoch in range(6):
    if epoch == 3:
        set_trainable(net, False)
    for i in range(0, 60, 10):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(X[i:i + 10]), Y[i:i + 10])
        loss.backward()
        optimizer.step()
