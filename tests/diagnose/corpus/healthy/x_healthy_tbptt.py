"""Stateful LSTM with repackaged hidden states, gradient clipping, a loss summed as a number, evaluation in between."""
import torch
from torch import nn


class RNNModel(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim)
        self.decoder = nn.Linear(dim, vocab)

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return self.decoder(self.drop(out)), hidden


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def evaluate(model, data):
    model.eval()
    total, hidden = 0.0, (torch.zeros(1, 4, 16), torch.zeros(1, 4, 16))
    with torch.no_grad():
        for i in range(0, len(data) - 11, 10):
            out, hidden = model(data[i:i + 10], hidden)
            total += nn.functional.cross_entropy(out.flatten(0, 1), data[i + 1:i + 11].flatten()).item()
    return total


torch.manual_seed(0)
data = (torch.arange(240).remainder(7)).view(4, 60).t().contiguous()
model = RNNModel(7, 16)
lr = 1.0
for epoch in range(2):
    model.train()
    total, hidden = 0.0, (torch.zeros(1, 4, 16), torch.zeros(1, 4, 16))
    for i in range(0, 49, 10):
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        out, hidden = model(data[i:i + 10], hidden)
        loss = nn.functional.cross_entropy(out.flatten(0, 1), data[i + 1:i + 11].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
    print(epoch, total, evaluate(model, data))
