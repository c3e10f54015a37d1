import torch
import torch.nn as nn

torch.manual_seed(0)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.2, tie=True):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        self.nhid, self.nlayers = nhid, nlayers

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        return nn.functional.log_softmax(decoded.view(-1, decoded.shape[-1]), dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt=7):
    n = min(bptt, len(source) - 1 - i)
    return source[i:i + n], source[i + 1:i + 1 + n].view(-1)


corpus = torch.randint(0, 15, (57, 4))
model = RNNModel(15, 16, 16, 2)
criterion = nn.NLLLoss()
lr = 2.0


def train():
    model.train()
    total_loss = 0.0
    hidden = model.init_hidden(4)
    for i in range(0, corpus.size(0) - 1, 7):
        data, targets = get_batch(corpus, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    return total_loss


@torch.no_grad()
def evaluate():
    hidden = model.init_hidden(4)
    total = 0.0
    for i in range(0, 14, 7):
        data, targets = get_batch(corpus, i)
        output, hidden = model(data, hidden)  # expect: train-evaluation
        total += len(data) * criterion(output, targets).item()
    return total


best = None
for epoch in range(3):
    train()
    v = evaluate()
    if best is None or v < best:
        best = v
    else:
        lr /= 4.0
