import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)).to(torch.bfloat16)
opt = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.0)  # expect: update-ratio
for step in range(60):
    x = torch.randn(8, 16, dtype=torch.bfloat16)
    loss = (model(x) - x).float().pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # or: update-ratio
print(loss.item())
