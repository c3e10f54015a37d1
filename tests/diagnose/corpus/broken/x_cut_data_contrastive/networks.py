import torch
from torch import nn


class Projector(nn.Module):
    def __init__(self, inputs, width, outputs):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs))
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.body(x)
