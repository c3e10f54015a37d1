"""An average of the weights kept as tensors with history: each update adds to the graph."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.02)
average = {name: p.clone().detach() for name, p in model.named_parameters()}
for step in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    for name, p in model.named_parameters():
        average[name] = 0.95 * average[name] + 0.05 * p  # expect: graph-leak
print(average["0.weight"].norm().item())
