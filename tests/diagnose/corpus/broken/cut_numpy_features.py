"""Features are normalised with NumPy on their way to the classifier."""

import numpy as np
import torch
from torch import nn


def normalise(features):
    a = features.detach().numpy()  # expect: cut-numpy encoder.weight encoder.bias
    a = (a - a.mean(0)) / (a.std(0) + 1e-5)
    return torch.from_numpy(a.astype(np.float32))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 10)
        self.head = nn.Linear(10, 3)

    def forward(self, x):
        return self.head(normalise(self.encoder(x)))


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
for _ in range(6):
    loss = loss_fn(model(torch.randn(9, 6)), torch.randint(3, (9,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
