"""The state is detached between the chunks, so the graphs that are retained for it serve nothing."""

import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.rnn = nn.RNN(2, 6)
        self.out = nn.Linear(6, 2)
        self.optimizer = torch.optim.SGD([*self.rnn.parameters(), *self.out.parameters()], lr=0.05)

    def run(self, series, length):
        hidden = torch.zeros(1, series.shape[1], 6)
        for at in range(0, len(series) - length, length):
            x, y = series[at : at + length], series[at + 1 : at + length + 1]
            hidden = hidden.detach()
            states, hidden = self.rnn(x, hidden)
            loss = nn.functional.mse_loss(self.out(states), y)
            self.optimizer.zero_grad()
            loss.backward(retain_graph=True)  # expect: graph-retained
            self.optimizer.step()


torch.manual_seed(0)
Trainer().run(torch.randn(41, 3, 2), 8)
