"""A GAN over short token sequences; the generator's tokens are chosen by argmax."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, BATCH = 10, 6, 16


class TokenGenerator(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(8, 24)
        self.logits = nn.Linear(24, LENGTH * VOCAB)

    def forward(self, z):
        scores = self.logits(torch.relu(self.start(z))).view(-1, LENGTH, VOCAB)
        return scores.argmax(dim=-1)  # expect: cut-nondifferentiable start.weight start.bias logits.weight logits.bias


class TokenCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 12)
        self.out = nn.Linear(12 * LENGTH, 1)

    def forward(self, tokens):
        return self.out(self.embed(tokens).flatten(1)).squeeze(1)


def real():
    first = torch.randint(0, VOCAB, (BATCH, 1))
    return (first + torch.arange(LENGTH)) % VOCAB


torch.manual_seed(0)
gen, critic = TokenGenerator(), TokenCritic()
g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3)
d_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for it in range(15):
    with torch.no_grad():
        sample = gen(torch.randn(BATCH, 8))
    d_loss = F.softplus(-critic(real())).mean() + F.softplus(critic(sample)).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    g_loss = F.softplus(-critic(gen(torch.randn(BATCH, 8)))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    print(it, d_loss.item(), g_loss.item())
