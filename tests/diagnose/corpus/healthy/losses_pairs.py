"""Tables of pairs that are meant: ranking, kernels, distances to centres, quantiles, labels of a contrastive loss."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
N = 16
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
embed = nn.Linear(5, N)
centres = nn.Parameter(torch.randn(N))
shift = nn.Parameter(torch.zeros(N))
optimizer = torch.optim.Adam([*model.parameters(), *embed.parameters(), centres, shift], 1e-3)
for step in range(12):
    x = torch.randn(N, 5)
    y = x.sum(1)
    labels = torch.arange(N) % 4
    column = model(x)
    scores = column.squeeze(1)
    ranking = (1 - (scores[:, None] - scores) * (y[:, None] - y).sign()).clamp(min=0).mean()
    other = y.unsqueeze(1)
    differences = other - scores
    kernel = torch.exp(-differences.pow(2)).mean()
    nearest = (scores[:, None] - centres).pow(2).amin(1).mean()
    centred = (column - scores.detach().mean()).pow(2).mean()
    moved = (embed(x) + shift - y[:, None]).pow(2).mean()
    same = labels.view(-1, 1) == labels
    similarity = embed(x) @ embed(x).T
    contrast = -(F.log_softmax(similarity, 1) * same).sum(1).mean() / same.sum(1).float().mean()
    spread = (column - column.T).abs().mean()
    quantiles = torch.linspace(0.05, 0.95, N)
    error = y.view(-1, 1) - embed(x)
    pinball = torch.maximum(quantiles * error, (quantiles - 1) * error).mean()
    rows = F.mse_loss(embed(x), y.expand(N, N))
    loss = ranking + kernel + nearest + centred + moved + contrast + 0.01 * spread + pinball + rows
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hits = (labels[:, None] == labels).float().mean()
