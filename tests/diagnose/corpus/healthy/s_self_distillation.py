import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
opt = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(30):
    x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
    target = model(x + 0.05 * torch.randn_like(x)).softmax(-1).detach()
    out = model(x)
    loss = F.cross_entropy(out, y) + F.kl_div(out.log_softmax(-1), target, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
