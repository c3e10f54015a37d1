"""Keeps predictions of every batch in a dict keyed by sample id."""
import torch
from torch import nn


class Predictions(dict):
    def record(self, ids, logits):
        for i, row in zip(ids.tolist(), logits):
            self[i] = row  # expect: graph-leak


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
X = torch.randn(320, 6)
Y = torch.randint(0, 4, (320,))
preds = Predictions()
for i in range(0, 320, 8):
    ids = torch.arange(i, i + 8)
    logits = model(X[ids])
    loss = nn.functional.cross_entropy(logits, Y[ids])
    opt.zero_grad()
    loss.backward()
    opt.step()
    preds.record(ids, logits)
acc = sum(int(v.argmax() == Y[k]) for k, v in preds.items()) / len(preds)
print(acc)
