"""A trainer with an LSTM language model; sampling between the epochs leaves evaluation mode on."""

import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=12, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, dropout=0.2, batch_first=True)
        self.out = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.out(self.lstm(self.embed(tokens))[0])


class Trainer:
    def __init__(self):
        self.model = LanguageModel()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    def sample(self, length=5):
        self.model.train(False)  # expect: eval-training
        tokens = torch.zeros(1, 1, dtype=torch.long)
        with torch.inference_mode():
            for _ in range(length):
                tokens = torch.cat([tokens, self.model(tokens)[:, -1:].argmax(-1)], 1)
        return tokens[0].tolist()

    def epoch(self, text):
        for i in range(0, len(text) - 24, 24):
            batch = text[i : i + 24].view(4, 6)
            logits = self.model(batch[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer()
text = torch.randint(0, 12, (200,))
for _ in range(2):
    trainer.epoch(text)
    print(trainer.sample())
