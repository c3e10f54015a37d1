import torch
from torch import nn


class Transfer(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.backbone(x))


torch.manual_seed(0)
model = Transfer()
opt = torch.optim.Adam([  # expect: update-ratio
    {"params": model.backbone.parameters(), "lr": 1e-11},
    {"params": model.head.parameters(), "lr": 1e-3},
])
for step in range(30):
    x = torch.randn(64, 20)
    loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()  # or: update-ratio
