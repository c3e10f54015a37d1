"""A sentiment model of the Variable times: the last hidden state is taken out by .data before the classifier."""
import torch
import torch.nn as nn
import torch.optim as optim


class Sentiment(nn.Module):
    def __init__(self, vocab, embed, hidden):
        super(Sentiment, self).__init__()
        self.embedding = nn.Embedding(vocab, embed)
        self.lstm = nn.LSTM(embed, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def init_hidden(self, batch):
        weight = next(self.parameters()).data
        return (weight.new_zeros(1, batch, self.lstm.hidden_size), weight.new_zeros(1, batch, self.lstm.hidden_size))

    def forward(self, x, hidden):
        embeds = self.embedding(x)
        lstm_out, hidden = self.lstm(embeds, hidden)
        last = lstm_out[:, -1].data  # expect: cut-data embedding.weight lstm.weight_ih_l0 lstm.weight_hh_l0 lstm.bias_ih_l0 lstm.bias_hh_l0
        return torch.sigmoid(self.fc(last)).squeeze(1), hidden


torch.manual_seed(0)
net = Sentiment(50, 16, 16)
criterion = nn.BCELoss()
optimizer = optim.Adam(net.parameters(), lr=0.005)
tokens = torch.randint(0, 50, (64, 8))
labels = (tokens < 20).float().mean(1).gt(0.4).float()
net.train()
for epoch in range(4):
    for i in range(0, 64, 16):
        h = net.init_hidden(16)
        net.zero_grad()
        output, h = net(tokens[i:i + 16], h)
        loss = criterion(output, labels[i:i + 16])
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5)
        optimizer.step()
    print("Epoch {} loss {:.4f}".format(epoch, loss.item()))
