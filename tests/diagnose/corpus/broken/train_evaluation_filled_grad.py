# no no_grad, a wrapper, and a model in a function
import io

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))


def restore(file):
    model = build()
    model.load_state_dict(torch.load(file))
    return model


def main():
    torch.manual_seed(0)
    file = io.BytesIO()
    torch.save(build().state_dict(), file)
    file.seek(0)
    model = restore(file)
    for _ in range(4):
        scores = model(torch.randn(8, 6)).softmax(-1)  # expect: train-evaluation
        print(scores.argmax(-1).tolist())


main()
