"""CLIP-like training with a learned temperature that is read as a Python number."""
import torch
from torch import nn
from torch.nn import functional as F


class TwoTowers(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.Linear(32, width))
        self.text = nn.Sequential(nn.Linear(14, 32), nn.GELU(), nn.Linear(32, width))
        self.log_temp = nn.Parameter(torch.zeros(()))

    def forward(self, image, text):
        a = F.normalize(self.image(image), dim=-1)
        b = F.normalize(self.text(text), dim=-1)
        scale = float(self.log_temp.exp())  # expect: cut-item log_temp
        return scale * a @ b.T


def clip_loss(logits):
    labels = torch.arange(logits.shape[0])
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


def train(steps):
    torch.manual_seed(7)
    mix_image, mix_text = torch.randn(6, 20), torch.randn(6, 14)
    model = TwoTowers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        meaning = torch.randn(24, 6)
        loss = clip_loss(model(meaning @ mix_image, meaning @ mix_text))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(step, loss.item(), model.log_temp.item())


train(20)
