"""Manual SWA started late: averages with history, module buffers in a list."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
swa, n = None, 0
for step in range(120):
    x = torch.randn(16, 5)
    loss = (model(x) - x.sin().sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step >= 15:
        params = list(model.parameters())
        if swa is None:
            swa = [p * 1.0 for p in params]
        else:
            swa = [(s * n + p) / (n + 1) for s, p in zip(swa, params)]  # expect: graph-leak
        n += 1
print(n, sum(s.norm().item() for s in swa))
