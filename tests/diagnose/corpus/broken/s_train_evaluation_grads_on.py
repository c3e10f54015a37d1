import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
X, y = torch.randn(128, 8), torch.randint(0, 2, (128,))
Xv, yv = torch.randn(64, 8), torch.randint(0, 2, (64,))
for epoch in range(10):
    for i in range(0, 128, 32):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(X[i:i + 32]), y[i:i + 32])
        loss.backward()
        opt.step()
    acc = (model(Xv).argmax(1) == yv).float().mean().item()  # expect: train-evaluation
    print(epoch, acc)
