"""A signal model whose spectral features are computed by NumPy in the middle of forward()."""
import numpy as np
import torch
from torch import nn


class Spectral(nn.Module):
    def __init__(self, length=32, classes=3):
        super().__init__()
        self.filter = nn.Conv1d(1, 4, kernel_size=5, padding=2)
        self.classify = nn.Linear(4 * (length // 2 + 1), classes)

    def forward(self, signal):
        filtered = self.filter(signal.unsqueeze(1))
        spectrum = np.abs(np.fft.rfft(filtered.detach().numpy()))  # expect: cut-numpy filter.weight filter.bias
        features = torch.from_numpy(spectrum.astype(np.float32))
        return self.classify(features.flatten(1))


def batch(rng, n=24, length=32):
    label = rng.integers(0, 3, n)
    t = np.arange(length) / length
    wave = np.sin(2 * np.pi * (2 + 3 * label)[:, None] * t + rng.uniform(0, 6, (n, 1)))
    return torch.tensor(wave + 0.1 * rng.normal(size=wave.shape), dtype=torch.float32), torch.tensor(label)


rng = np.random.default_rng(0)
torch.manual_seed(0)
model = Spectral()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(12):
    x, y = batch(rng)
    loss = nn.CrossEntropyLoss()(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
