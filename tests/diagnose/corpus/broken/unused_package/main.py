"""A model in a file of its own has a branch that no loss is made of."""

import torch
from model import Forked

torch.manual_seed(0)
net = Forked()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(8, 4)
    main, side = net(x)
    loss = torch.nn.functional.mse_loss(main, x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), side.mean().item())
