"""Reverse short sequences with a GRU encoder and decoder; the encoder's state was detached 'to save memory'."""
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Config:
    vocab: int = 12
    hidden: int = 24
    length: int = 5
    batch: int = 16
    lr: float = 0.01
    steps: int = 12


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.hidden)
        self.rnn = nn.GRU(cfg.hidden, cfg.hidden, batch_first=True)

    def forward(self, src):
        _, h = self.rnn(self.embed(src))
        return h


class Decoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.hidden)
        self.rnn = nn.GRU(cfg.hidden, cfg.hidden, batch_first=True)
        self.out = nn.Linear(cfg.hidden, cfg.vocab)

    def forward(self, tokens, h):
        y, h = self.rnn(self.embed(tokens), h)
        return self.out(y), h


class Seq2Seq(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder, self.decoder = Encoder(cfg), Decoder(cfg)

    def forward(self, src, tgt):
        hidden = self.encoder(src)
        start = torch.zeros_like(tgt[:, :1])
        inputs = torch.cat([start, tgt[:, :-1]], dim=1)
        logits, _ = self.decoder(inputs, hidden.detach())  # expect: cut-detach encoder.embed.weight encoder.rnn.weight_ih_l0 encoder.rnn.weight_hh_l0 encoder.rnn.bias_ih_l0 encoder.rnn.bias_hh_l0
        return logits


cfg = Config()
torch.manual_seed(3)
model = Seq2Seq(cfg)
optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
criterion = nn.CrossEntropyLoss()
for step in range(cfg.steps):
    src = torch.randint(1, cfg.vocab, (cfg.batch, cfg.length))
    tgt = src.flip(1)
    optimizer.zero_grad()
    logits = model(src, tgt)
    loss = criterion(logits.reshape(-1, cfg.vocab), tgt.reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
