"""Attention without the division by sqrt(d), with large embeddings."""
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.q = nn.Linear(d, d, bias=False)
        self.k = nn.Linear(d, d, bias=False)
        self.v = nn.Linear(d, d, bias=False)
        for m in (self.q, self.k):
            nn.init.normal_(m.weight, std=1.0)  # or: saturated

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-2, -1)
        weights = torch.softmax(scores, dim=-1)  # expect: saturated
        return weights @ self.v(x)


class Tiny(nn.Module):
    def __init__(self, vocab=40, d=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.head = Head(d)
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, vocab)

    def forward(self, t):
        x = self.emb(t)
        return self.out(self.norm(x + self.head(x)))


torch.manual_seed(0)
model = Tiny()
opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(8):
    t = torch.randint(0, 40, (4, 20))
    logits = model(t[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), t[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
