"""The error is swallowed by a broad except: training silently stops learning."""
import torch
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Linear(6, 12), nn.Linear(12, 1)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
features = None
failures = 0
X = torch.randn(32, 6)
Y = X.sum(1, keepdim=True)
for epoch in range(20):
    try:
        if features is None:
            features = torch.tanh(encoder(X))  # or: backward-twice
        loss = (head(features) - Y).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # expect: backward-twice
        opt.step()
    except RuntimeError as e:
        failures += 1
print(failures)
