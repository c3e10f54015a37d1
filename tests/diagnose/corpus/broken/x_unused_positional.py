"""A transformer whose positional embedding is added to a tensor that is not used afterwards."""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocab=12, d=16, length=6):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(length, d)  # or: unused
        self.layer = nn.TransformerEncoderLayer(d, 4, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d, 2)

    def forward(self, ids):
        x = self.tok(ids)
        h = x + self.pos(torch.arange(ids.shape[1]))  # expect: unused pos.weight
        return self.out(self.layer(x).mean(1))


torch.manual_seed(0)
model = Classifier()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for i in range(10):
    ids = torch.randint(0, 12, (24, 6))
    loss = nn.functional.cross_entropy(model(ids), (ids[:, 0] > ids[:, 1]).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
