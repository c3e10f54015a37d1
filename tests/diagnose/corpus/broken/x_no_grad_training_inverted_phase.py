"""The condition of set_grad_enabled is the wrong way round."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
x = torch.randn(40, 4)
y = (x.sum(1) > 0).long()
sets = {"train": (x[:30], y[:30]), "val": (x[30:], y[30:])}
for epoch in range(3):
    for phase in ["train", "val"]:
        model.train() if phase == "train" else model.eval()
        inputs, labels = sets[phase]
        optimizer.zero_grad()
        with torch.set_grad_enabled(phase == "val"):  # expect: no-grad-training
            outputs = model(inputs)
            loss = criterion(outputs, labels)
            if phase == "train":
                loss.backward()
                optimizer.step()
        print(epoch, phase, loss.item())
