"""Weight decay for weights, none for biases; what is named neither way falls through."""
import torch
from torch import nn


class ViT(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.patch = nn.Linear(6, dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, 5, dim) * 0.02)
        self.mix = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        t = torch.cat([self.cls_token.expand(len(x), -1, -1), self.patch(x)], dim=1) + self.pos_embed
        return self.head(self.mix(t)[:, 0])


def build_optimizer(model, lr, wd):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if name.endswith("weight"):
            decay.append(p)
        elif name.endswith("bias"):
            no_decay.append(p)
    return torch.optim.AdamW([{"params": decay, "weight_decay": wd}, {"params": no_decay, "weight_decay": 0.0}], lr=lr)  # expect: not-in-optimizer cls_token pos_embed


torch.manual_seed(0)
model = ViT()
optimizer = build_optimizer(model, 2e-3, 0.05)
for step in range(10):
    x = torch.randn(16, 4, 6)
    loss = nn.functional.cross_entropy(model(x), (x.mean(dim=(1, 2)) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
