"""The accumulated gradient is clipped after every micro-batch."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.GRU(4, 8, batch_first=True)
readout = nn.Linear(8, 1)
parameters = [*net.parameters(), *readout.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-2)
k = 3
for step in range(5):
    optimizer.zero_grad()
    for _ in range(k):
        x = torch.randn(6, 5, 4)
        out, _ = net(x)
        loss = nn.functional.mse_loss(readout(out[:, -1]), x.sum((1, 2), keepdim=False)[:, None]) / k
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)  # expect: accumulation-scale
    optimizer.step()
