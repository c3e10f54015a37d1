import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), 1e-2)
for _ in range(30):
    x = torch.randn(32, 3)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
x = torch.randn(5, 3)
samples = torch.stack([model(x) for _ in range(20)])
print(samples.mean(0), samples.std(0))
