"""The vocabulary grows during the training, and with it the embedding: a new module with the old rows copied."""
import torch
from torch import nn


class Bag(nn.Module):
    def __init__(self, vocab, dim=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.out = nn.Linear(dim, 1)

    def grow(self, vocab):
        old = self.emb
        self.emb = nn.Embedding(vocab, old.embedding_dim)  # expect: optimizer-holds-other emb.weight
        with torch.no_grad():
            self.emb.weight[: old.num_embeddings] = old.weight

    def forward(self, ids):
        return self.out(self.emb(ids).mean(1)).squeeze(1)


torch.manual_seed(0)
bag, vocab = Bag(10), 10
opt = torch.optim.Adam(bag.parameters(), lr=1e-2)  # or: optimizer-holds-other
for epoch in range(6):
    if epoch == 2:
        vocab = 16
        bag.grow(vocab)
    for _ in range(4):
        ids = torch.randint(0, vocab, (24, 4))
        loss = nn.functional.mse_loss(bag(ids), ids.float().mean(1) / 8)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
