"""Accumulation with clipping at every micro-batch: the parts that came first are clipped again and again."""
import argparse

import torch
import torch.nn as nn


class CharModel(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        out, _ = self.rnn(self.emb(ids))
        return self.head(out)


def train(args):
    torch.manual_seed(args.seed)
    model = CharModel(12, 16)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for update in range(args.updates):
        opt.zero_grad()
        for micro in range(args.accum):
            ids = torch.randint(0, 12, (4, 9))
            ids[:, 1::2] = ids[:, ::2][:, :4]
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()) / args.accum
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)  # expect: accumulation-scale
        opt.step()
        print(update, loss.item() * args.accum)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--accum", type=int, default=3)
    p.add_argument("--updates", type=int, default=6)
    p.add_argument("--clip", type=float, default=0.1)
    train(p.parse_args())
