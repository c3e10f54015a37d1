"""Training with differential privacy: gradients of single samples, clipped, with noise, and what privacy is spent."""

import warnings

import torch
from opacus import PrivacyEngine
from opacus.accountants import RDPAccountant
from opacus.grad_sample import GradSampleModule
from opacus.validators import ModuleValidator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
torch.manual_seed(0)
x = torch.randn(256, 1, 8, 8)
y = (x[:, 0, :4].mean((1, 2)) > x[:, 0, 4:].mean((1, 2))).long()


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(128, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, x):
        return self.head(self.convolution(x))


model = Network()
print(len(ModuleValidator.validate(model, strict=False)))
model = ModuleValidator.fix(model)
print(len(ModuleValidator.validate(model, strict=False)), type(model.convolution[1]).__name__)

samples = GradSampleModule(model)
nn.functional.cross_entropy(samples(x[:16]), y[:16]).backward()
for name, parameter in samples.named_parameters():
    alike = torch.allclose(parameter.grad_sample.mean(0), parameter.grad, atol=1e-6)
    print(name, parameter.grad_sample.flatten(1).norm(dim=1).mean().item(), float(alike))
model = samples.to_standard_module()
model.zero_grad()

optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
loader = DataLoader(TensorDataset(x, y), batch_size=64)
engine = PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private(module=model, optimizer=optimizer, data_loader=loader,
    noise_multiplier=0.8, max_grad_norm=1.0, noise_generator=torch.Generator().manual_seed(5), poisson_sampling=False)
for _ in range(5):
    total = 0.0
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(total / len(loader), engine.get_epsilon(1e-5))
accountant = RDPAccountant()
for _ in range(100):
    accountant.step(noise_multiplier=1.1, sample_rate=0.02)
print(accountant.get_epsilon(delta=1e-5))
