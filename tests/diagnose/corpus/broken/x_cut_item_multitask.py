"""Age and gender from one trunk: the second loss goes into the sum as a number."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __init__(self, n=96):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(n, 12, generator=g)
        self.age = self.x[:, :3].sum(1)
        self.gender = (self.x[:, 3] > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.age[i], self.gender[i]


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 24), nn.ReLU())
        self.age = nn.Linear(24, 1)
        self.gender = nn.Linear(24, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h).squeeze(1), self.gender(h)


class Trainer:
    def __init__(self, model, weight=0.5):
        self.model, self.weight = model, weight
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)

    def losses(self, batch):
        x, age, gender = batch
        a, g = self.model(x)
        return F.mse_loss(a, age), F.cross_entropy(g, gender)

    def epoch(self, loader):
        for batch in loader:
            age_loss, gender_loss = self.losses(batch)
            loss = age_loss + self.weight * gender_loss.item()  # expect: cut-item gender.weight gender.bias
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return age_loss.item(), gender_loss.item()


torch.manual_seed(1)
trainer = Trainer(MultiTask())
loader = DataLoader(Faces(), batch_size=24, shuffle=True)
for epoch in range(4):
    print(epoch, *trainer.epoch(loader))
