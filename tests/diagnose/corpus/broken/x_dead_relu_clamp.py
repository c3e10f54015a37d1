import torch
from torch import nn

torch.manual_seed(0)


class Preprocess:
    """Subtracts the mean twice by mistake, in other units."""

    def __init__(self, mean):
        self.mean = mean

    def __call__(self, x):
        return x - self.mean * 1000


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(5, 24)
        self.out = nn.Linear(24, 1)
        with torch.no_grad():
            self.scale.weight.abs_()

    def forward(self, x):
        return self.out(self.scale(x).clamp(min=0))  # expect: dead-relu scale.weight scale.bias


pre = Preprocess(0.5)
model = Regressor()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(20):
    raw = torch.rand(32, 5)
    loss = nn.functional.l1_loss(model(pre(raw)), raw.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
