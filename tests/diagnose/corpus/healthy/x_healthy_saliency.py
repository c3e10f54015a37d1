"""Train, then saliency maps of a trained model in evaluation mode: gradients of inputs only, parameters untouched."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(1, 6, 3, padding=1), nn.ReLU(), nn.Dropout(0.1), nn.Flatten(), nn.Linear(96, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.randn(40, 1, 16)
y = (x[:, 0, :4].sum(1) > 0).long()
for _ in range(15):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()

model.eval()
maps = []
for i in range(5):
    image = x[i:i + 1].clone().requires_grad_(True)
    score = model(image)[0, y[i]]
    model.zero_grad()
    score.backward()
    maps.append(image.grad.abs().squeeze())
print(torch.stack(maps).mean(0))
