"""Seq2seq with scheduled teacher forcing: argmax tokens are fed back, a coin decides, losses are summed over time."""
import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
emb, enc, dec, out = nn.Embedding(9, 12), nn.GRU(12, 16, batch_first=True), nn.GRUCell(12, 16), nn.Linear(16, 9)
params = [p for m in (emb, enc, dec, out) for p in m.parameters()]
opt = torch.optim.Adam(params, lr=5e-3)
for it in range(15):
    src = torch.randint(1, 9, (16, 5))
    tgt = src.flip(1)
    _, h = enc(emb(src))
    h, tok, loss = h[0], torch.zeros(16, dtype=torch.long), 0.0
    for t in range(5):
        h = dec(emb(tok), h)
        logits = out(h)
        loss = loss + nn.functional.cross_entropy(logits, tgt[:, t])
        tok = tgt[:, t] if random.random() < 0.5 else logits.argmax(1)
    opt.zero_grad()
    (loss / 5).backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    print(it, loss.item() / 5)
