"""A transformer block calls its second LayerNorm and forgets to take the result."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln1 = nn.LayerNorm(dim)
        self.ln2 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        y = self.ln1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        self.ln2(x)  # expect: unused block.ln2.weight block.ln2.bias
        return x + self.ff(x)


class Tagger(nn.Module):
    def __init__(self, vocab=15, dim=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.block = Block(dim, 2)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.block(self.tok(ids)))


torch.manual_seed(0)
tagger = Tagger()
opt = torch.optim.AdamW(tagger.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 5))
for step in range(10):
    ids = torch.randint(0, 15, (8, 6))
    target = ids.roll(1, dims=1)
    loss = nn.functional.cross_entropy(tagger(ids).transpose(1, 2), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
print(loss.item())
