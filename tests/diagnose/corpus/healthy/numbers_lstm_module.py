"""nn.LSTM and nn.GRU classify long sequences."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 10, num_layers=2, batch_first=True)
        self.gru = nn.GRU(10, 6, batch_first=True, bidirectional=True)
        self.out = nn.Linear(12, 3)

    def forward(self, tokens):
        h, _ = self.lstm(self.embed(tokens))
        h, _ = self.gru(h)
        return self.out(h[:, -1])


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
for step in range(11):
    tokens = torch.randint(0, 20, (4, 100))
    loss = nn.functional.cross_entropy(model(tokens), tokens[:, 5] % 3)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
