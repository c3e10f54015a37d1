"""A detector of events that trains on thresholded outputs."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Detector(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(channels, 24), nn.ReLU())
        self.score = nn.Linear(24, 1)
        self.threshold = 0.5

    def forward(self, x):
        p = torch.sigmoid(self.score(self.features(x))).squeeze(-1)
        return (p > self.threshold).float()  # expect: cut-nondifferentiable features.0.weight features.0.bias score.weight score.bias


class Experiment:
    def __init__(self, model, data):
        self.model = model
        self.loader = DataLoader(data, batch_size=16, shuffle=True)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.criterion = nn.BCELoss()

    def run(self, epochs):
        for epoch in range(epochs):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            print(epoch, loss.item())


torch.manual_seed(0)
x = torch.randn(64, 6)
Experiment(Detector(), TensorDataset(x, (x[:, 0] > 0).float())).run(2)
