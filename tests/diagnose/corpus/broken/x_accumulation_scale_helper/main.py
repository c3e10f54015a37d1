"""Large batches by accumulation; the loop is in a helper file."""
import torch
from engine import train
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 5)
loader = DataLoader(TensorDataset(x, x.pow(2).sum(1, keepdim=True)), batch_size=8)
model = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 1))
train(model, loader, torch.optim.SGD(model.parameters(), lr=1e-3), epochs=2, virtual_batch=24)
