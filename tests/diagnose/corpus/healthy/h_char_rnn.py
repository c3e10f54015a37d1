"""Names by a character RNN, with the hand-written update of the tutorial."""

import random
import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)
n_letters, n_categories, n_hidden = 12, 3, 24


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        return self.softmax(self.h2o(hidden)), hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


def sample():
    c = random.randrange(n_categories)
    line = [random.randrange(c * 3, c * 3 + 6) for _ in range(random.randrange(3, 7))]
    t = torch.zeros(len(line), 1, n_letters)
    for i, l in enumerate(line):
        t[i][0][l] = 1
    return torch.tensor([c], dtype=torch.long), t


rnn = RNN(n_letters, n_hidden, n_categories)
criterion = nn.NLLLoss()
learning_rate = 0.005


def train(category_tensor, line_tensor):
    hidden = rnn.initHidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


current_loss, all_losses = 0, []
for it in range(1, 201):
    output, loss = train(*sample())
    current_loss += loss
    if it % 50 == 0:
        top_n, top_i = output.topk(1)
        print(it, loss, top_i[0].item())
        all_losses.append(current_loss / 50)
        current_loss = 0
