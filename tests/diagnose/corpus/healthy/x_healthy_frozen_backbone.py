"""A frozen backbone in evaluation mode with BatchNorm, a trained head; all parameters are given to the optimizer."""
import torch
from torch import nn


class Transfer(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten())
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(96, 3))
        for p in self.backbone.parameters():
            p.requires_grad = False

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            f = self.backbone(x)
        return self.head(f)


torch.manual_seed(0)
model = Transfer()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(12):
    model.train()
    x = torch.randn(24, 1, 6, 6)
    y = (x.mean(dim=(1, 2, 3)) * 9 + 1.5).clamp(0, 2).long()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    model.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (model(x).argmax(1) == y).float().mean().item())
