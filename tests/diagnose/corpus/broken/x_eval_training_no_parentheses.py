"""model.train without parentheses at the beginning of each epoch."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(80, 6)
y = (x[:, 0] * x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train
    for i in range(0, 60, 20):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x[i:i + 20]), y[i:i + 20])
        loss.backward()
        opt.step()
    model.eval()  # expect: eval-training
    with torch.no_grad():
        acc = (model(x[60:]).argmax(1) == y[60:]).float().mean()
    print(epoch, loss.item(), acc.item())
