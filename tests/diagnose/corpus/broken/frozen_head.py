"""The loop shall freeze the embedding and spare the rest, but the condition spares the wrong part."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.tags = nn.Linear(8, 4)

    def forward(self, words):
        return self.tags(self.rnn(self.embedding(words))[0])


torch.manual_seed(0)
tagger = Tagger()
for name, p in tagger.named_parameters():
    if not name.startswith(("embedding", "rnn")):
        p.requires_grad_(False)  # expect: frozen tags.weight tags.bias
optimizer = torch.optim.Adam(tagger.parameters(), lr=1e-2)
for _ in range(5):
    words, tags = torch.randint(20, (3, 7)), torch.randint(4, (3, 7))
    loss = nn.functional.cross_entropy(tagger(words).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
