"""Truncated backpropagation: the state is detached rightly, retain_graph=True is left over."""
import torch
import torch.nn as nn


class LM(nn.Module):
    def __init__(self, vocab=11, dim=16):
        super().__init__()
        self.encoder = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim)
        self.decoder = nn.Linear(dim, vocab)

    def forward(self, x, state):
        out, state = self.rnn(self.encoder(x), state)
        return self.decoder(out), state


def repackage(state):
    return tuple(s.detach() for s in state)


torch.manual_seed(0)
stream = torch.arange(400).remainder(11).view(4, 100).t().contiguous()
model, bptt = LM(), 8
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(2):
    state = (torch.zeros(1, 4, 16), torch.zeros(1, 4, 16))
    for i in range(0, 96, bptt):
        data, target = stream[i:i + bptt], stream[i + 1:i + 1 + bptt]
        state = repackage(state)
        logits, state = model(data, state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward(retain_graph=True)  # expect: graph-retained
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    print(epoch, loss.item())
