"""Fine-tuning of a model that a loading function, written for inference, returns in evaluation mode."""
import io

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))


def save(model):
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    return buffer


def load(buffer):
    model = build()
    model.load_state_dict(torch.load(buffer))
    model.eval()  # expect: eval-training
    return model


def finetune(model, x, y, steps=15, lr=1e-3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for step in range(steps):
        idx = torch.randint(0, len(x), (24,))
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(120, 8)
    finetune(load(save(build())), x, (x[:, 0] + x[:, 1] > 0).long())
