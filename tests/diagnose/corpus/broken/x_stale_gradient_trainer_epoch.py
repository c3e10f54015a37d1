"""A trainer that zeroes once per epoch and steps once per batch."""
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    epochs: int = 3
    lr: float = 1e-3
    batch_size: int = 16
    hidden: list = field(default_factory=lambda: [32, 16])


def build(cfg, n_in, n_out):
    sizes = [n_in, *cfg.hidden]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], n_out))


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optim = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.criterion = nn.CrossEntropyLoss()

    def train(self, dataset):
        loader = DataLoader(dataset, batch_size=self.cfg.batch_size, shuffle=True)
        for epoch in range(self.cfg.epochs):
            self.model.train()
            self.optim.zero_grad()
            running = 0.0
            for xb, yb in loader:
                loss = self.criterion(self.model(xb), yb)
                loss.backward()
                self.optim.step()  # expect: stale-gradient
                running += loss.item()
            print(f"epoch {epoch}: {running / len(loader):.4f}")


torch.manual_seed(0)
x = torch.randn(80, 6)
cfg = TrainConfig()
Trainer(cfg, build(cfg, 6, 3)).train(TensorDataset(x, x[:, :3].argmax(1)))
