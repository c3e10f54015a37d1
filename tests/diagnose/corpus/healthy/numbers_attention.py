"""A transformer with causal and padding masks of -inf; no row is masked as a whole."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width=16, heads=2, depth=3):
        super().__init__()
        self.embed = nn.Embedding(12, width)
        layer = nn.TransformerEncoderLayer(width, heads, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.own = nn.Linear(width, width)
        self.head = nn.Linear(width, 12)

    def forward(self, tokens):
        length = tokens.shape[1]
        causal = torch.full((length, length), float("-inf")).triu(1)
        padding = tokens == 0
        padding = torch.zeros_like(padding, dtype=torch.float32).masked_fill(padding, float("-inf"))
        h = self.encoder(self.embed(tokens), mask=causal, src_key_padding_mask=padding)
        scores = self.own(h) @ h.transpose(1, 2) + causal
        h = h + scores.softmax(-1) @ h
        return self.head(h)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(12):
    tokens = torch.randint(1, 12, (4, 9))
    tokens[0, 6:] = 0
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
