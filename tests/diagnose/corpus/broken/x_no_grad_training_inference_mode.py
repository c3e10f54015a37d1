"""The whole loop over the phases runs under inference_mode, also the training phase."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = {"train": torch.randn(48, 6), "val": torch.randn(16, 6)}


def run_phase(phase, x):
    training = phase == "train"
    model.train(training)
    prediction = model(x)
    loss = nn.functional.mse_loss(prediction, x.mean(1, keepdim=True))
    if training:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


for epoch in range(3):
    with torch.inference_mode():  # expect: no-grad-training
        for phase in ("train", "val"):
            print(epoch, phase, run_phase(phase, data[phase]))
