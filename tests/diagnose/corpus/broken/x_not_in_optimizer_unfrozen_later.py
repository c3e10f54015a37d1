"""Fine-tuning in two stages: the encoder is unfrozen, but the optimizer was built from the parameters trainable before."""
import torch
from torch import nn, optim


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 18)
        self.b = nn.Linear(18, 18)

    def forward(self, x):
        return torch.relu(self.b(torch.relu(self.a(x))))


class Regressor(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(18, 1)

    def forward(self, x):
        return self.head(self.encoder(x)).squeeze(-1)


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False


def unfreeze(module):
    for p in module.parameters():
        p.requires_grad = True


torch.manual_seed(0)
model = Regressor(Encoder())
freeze(model.encoder)
optimizer = optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.02, momentum=0.9)  # expect: not-in-optimizer encoder.a.weight encoder.a.bias encoder.b.weight encoder.b.bias
x = torch.randn(64, 6)
y = x.abs().sum(1)
for epoch in range(12):
    if epoch == 4:
        unfreeze(model.encoder)  # or: not-in-optimizer
    loss = nn.functional.smooth_l1_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
