"""Losses that are given what they take: probabilities, their logarithms, logits."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
trunk, classes, yes = nn.Linear(5, 16), nn.Linear(16, 3), nn.Linear(16, 1)
teacher = nn.Linear(5, 3)
optimizer = torch.optim.Adam([*trunk.parameters(), *classes.parameters(), *yes.parameters()], 1e-3)
for step in range(12):
    x = torch.randn(32, 5)
    y = x[:, :3].argmax(1)
    sign = x[:, :1].sign()
    h = torch.tanh(trunk(x))
    logits, one = classes(h), yes(h)
    p = logits.softmax(1)
    soft = F.softmax(teacher(x), 1).detach()
    losses = [
        F.cross_entropy(logits, y),
        F.cross_entropy(logits, soft),
        F.cross_entropy(logits.view(8, 4, 3).transpose(1, 2), y.view(8, 4), label_smoothing=0.1),
        F.cross_entropy(p / 0.05, y),  # a temperature: meant
        F.nll_loss(torch.log(p + 1e-6), y),
        F.nll_loss(F.log_softmax(logits, -1), y),
        F.kl_div(F.log_softmax(logits, 1), soft, reduction="batchmean"),
        F.kl_div(F.log_softmax(logits, 1), soft.log(), reduction="batchmean", log_target=True),
        F.binary_cross_entropy(torch.sigmoid(one), (sign + 1) / 2),
        F.binary_cross_entropy(p, F.one_hot(y, 3).float()),
        F.binary_cross_entropy_with_logits(one, torch.rand(32, 1)),
        F.soft_margin_loss(one, sign),
        F.hinge_embedding_loss(one.abs(), sign),
        F.margin_ranking_loss(one, -one, sign),
        F.mse_loss(p, soft),
        -(F.logsigmoid(one * sign)).mean(),
    ]
    optimizer.zero_grad()
    torch.stack(losses).sum().backward()
    optimizer.step()
