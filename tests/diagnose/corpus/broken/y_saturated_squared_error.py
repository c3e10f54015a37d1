"""A classifier with a sigmoid and squared errors; the features are not scaled (square metres, euros)."""

import torch

torch.manual_seed(0)
n = 200
area = torch.rand(n, 1) * 150 + 20
price = area * 3000 + torch.randn(n, 1) * 40000
X = torch.cat([area, price, torch.ones(n, 1)], 1)
Y = (price / area > 3000).float()

w = torch.nn.Parameter(torch.randn(3, 1) * 0.1)
opt = torch.optim.SGD([w], lr=0.1)
lossfn = torch.nn.MSELoss()
for i in range(25):
    p = torch.sigmoid(X @ w)  # expect: saturated
    loss = lossfn(p, Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), w.flatten().tolist())
