"""Adam with a learning rate of 5, taken over from an SGD schedule."""
import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 8)
        self.fc = nn.Linear(8, 1)

    def forward(self, ids):
        return self.fc(self.emb(ids).mean(1)).squeeze(1)


class Fit:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)  # expect: update-ratio
        self.scheduler = ExponentialLR(self.optimizer, 0.99)

    def step(self, ids, y):
        loss = nn.functional.l1_loss(self.model(ids), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()  # or: update-ratio
        self.scheduler.step()
        return loss.item()


torch.manual_seed(0)
fit = Fit(Scorer(), lr=5.0)
for i in range(20):
    ids = torch.randint(0, 20, (32, 4))
    print(i, fit.step(ids, ids.float().mean(1) / 20))
