import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
x, y = torch.randn(100, 4), torch.randn(100, 1)
for i in range(30):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
x_test, y_test = torch.randn(20, 4), torch.randn(20, 1)
test_loss = (net(x_test) - y_test).pow(2).mean()  # expect: train-evaluation
print("test", test_loss.item())
