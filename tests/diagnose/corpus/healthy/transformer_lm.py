import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)

class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        a = q @ k.transpose(-2, -1) / math.sqrt(d // self.h)
        mask = torch.ones(t, t, dtype=torch.bool).tril()
        a = a.masked_fill(~mask, float("-inf")).softmax(-1)
        y = (self.drop(a) @ v).transpose(1, 2).reshape(b, t, d)
        return self.proj(y)

class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = Attention(d, h)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(0.1))
        self.calls = 0

    def forward(self, x):
        x = x + self.att(self.n1(x))
        return x + self.ff(self.n2(x))

class LM(nn.Module):
    def __init__(self, v=14, d=16, t=8, n=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Parameter(torch.zeros(1, t, d))
        self.blocks = nn.ModuleList(Block(d, 2) for _ in range(n))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, v, bias=False)
        self.head.weight = self.tok.weight
        self.apply(self.init)

    def init(self, m):
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, std=0.02)
            if m.bias is not None:
                nn.init.zeros_(m.bias)

    def forward(self, idx, target=None):
        x = self.tok(idx) + self.pos[:, :idx.shape[1]]
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False) if self.training else b(x)
        logits = self.head(self.norm(x))
        if target is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1), target.flatten())

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            p = self(idx[:, -8:])[:, -1].softmax(-1)
            idx = torch.cat([idx, torch.multinomial(p, 1)], 1)
        return idx

def get_batch(data, b=8, t=8):
    i = torch.randint(0, len(data) - t - 1, (b,))
    return torch.stack([data[j:j + t] for j in i]), torch.stack([data[j + 1:j + t + 1] for j in i])

@torch.no_grad()
def estimate(model, data):
    model.eval()
    loss = torch.stack([model(*get_batch(data)) for _ in range(3)]).mean()
    model.train()
    return loss.item()

data = torch.randint(0, 14, (400,))
model = LM()
decay = [p for p in model.parameters() if p.dim() >= 2]
other = [p for p in model.parameters() if p.dim() < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}], lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 20)
accum = 2
for it in range(10):
    for micro in range(accum):
        loss = model(*get_batch(data)) / accum
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad(set_to_none=True)
    if it % 5 == 4:
        estimate(model, data)
model.eval()
model.generate(data[:4].view(1, 4), 5)
