"""LoRA: a frozen base with small matrices."""

import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scaling


class Block(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.up, self.down = nn.Linear(d, 32), nn.Linear(32, d)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        n = self.n1(x)
        x = x + self.attn(n, n, n, need_weights=False)[0]
        return x + self.down(F.gelu(self.up(self.n2(x))))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(16, 30, bias=False)

    def forward(self, t):
        x = self.emb(t)
        for b in self.blocks:
            x = b(x)
        return self.head(x)


model = LM()
for p in model.parameters():
    p.requires_grad = False
for b in model.blocks:
    b.up, b.down = LoRALinear(b.up), LoRALinear(b.down)
trainable = [p for p in model.parameters() if p.requires_grad]
print(sum(p.numel() for p in trainable), sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.AdamW(trainable, lr=1e-3)
accumulate = 2
for step in range(20):
    t = torch.randint(0, 30, (8, 10))
    loss = F.cross_entropy(model(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten()) / accumulate
    loss.backward()
    if (step + 1) % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
    print(loss.item() * accumulate)
