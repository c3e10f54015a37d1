"""Logistic regression on raw amounts: the probabilities are 0 or 1, and wrong."""

import torch
from torch import nn

torch.manual_seed(0)
amounts = torch.rand(200, 2) * 10000
labels = (amounts[:, 0] > amounts[:, 1]).float()
model = nn.Linear(2, 1)
sgd = torch.optim.SGD(model.parameters(), lr=1e-7)
for i in range(10):
    probability = torch.sigmoid(model(amounts))  # expect: saturated
    loss = nn.functional.binary_cross_entropy(probability, labels[:, None])
    sgd.zero_grad()
    loss.backward()
    sgd.step()
