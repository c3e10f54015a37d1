"""The model is in evaluation mode from the beginning, for a look at its first loss; dropout is a function here."""

import torch
import torch.nn.functional as F
from torch import nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(10, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(F.dropout(F.relu(self.fc1(x)), p=0.3, training=self.training))


torch.manual_seed(0)
x, y = torch.randn(64, 10), torch.randn(64, 1)
model = MLP()
model.eval()  # expect: eval-training
with torch.no_grad():
    print("before", F.mse_loss(model(x), y).item())
opt = torch.optim.Adam(model.parameters())
for i in range(10):
    loss = F.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("after", loss.item())
