"""A text classifier; from_pretrained freezes unless it is told not to, and the vectors shall be tuned here."""
import torch
import torch.nn as nn


def fake_glove(vocab, dim):
    return torch.randn(vocab, dim, generator=torch.Generator().manual_seed(5)) * 0.3


class TextCNN(nn.Module):
    def __init__(self, vectors, classes):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors)  # expect: frozen embedding.weight
        self.convs = nn.ModuleList([nn.Conv1d(vectors.shape[1], 8, k) for k in (2, 3)])
        self.fc = nn.Linear(16, classes)

    def forward(self, tokens):
        e = self.embedding(tokens).transpose(1, 2)
        pooled = [torch.relu(conv(e)).amax(dim=2) for conv in self.convs]
        return self.fc(torch.cat(pooled, dim=1))


def main():
    torch.manual_seed(0)
    model = TextCNN(fake_glove(40, 12), 2)
    optimizer = torch.optim.Adam([  # or: frozen
        {"params": model.embedding.parameters(), "lr": 1e-4},  # or: frozen
        {"params": [*model.convs.parameters(), *model.fc.parameters()], "lr": 1e-3},
    ])
    tokens = torch.randint(0, 40, (96, 7))
    label = (tokens == 3).any(dim=1).long()
    for epoch in range(3):
        for i in range(0, 96, 24):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(tokens[i:i + 24]), label[i:i + 24])
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
