"""Accumulation over the sequences of a bucket, each with its mean loss; the learning rate was chosen for one mean."""
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 12)
        self.rnn = nn.GRU(12, 12, batch_first=True)
        self.out = nn.Linear(12, 2)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def step(model, opt, bucket):
    opt.zero_grad()
    total = 0.0
    for ids, tags in bucket:
        loss = nn.functional.cross_entropy(model(ids).transpose(1, 2), tags)
        loss.backward()  # expect: accumulation-scale
        total += loss.item()
    opt.step()  # or: accumulation-scale
    return total / len(bucket)


torch.manual_seed(0)
model = Tagger()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for it in range(6):
    bucket = []
    for length in (4, 5, 6, 7):
        ids = torch.randint(0, 10, (4, length))
        bucket.append((ids, (ids > 4).long()))
    print(it, step(model, opt, bucket))
