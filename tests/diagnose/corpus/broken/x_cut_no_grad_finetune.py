"""Fine-tuning: no_grad was kept from the feature-extraction experiment, but the backbone is in the optimizer."""
import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 12, 3, padding=1, stride=2)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return x.mean(dim=(2, 3))


class Classifier(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.fc = nn.Linear(12, classes)

    def forward(self, x):
        with torch.no_grad():  # expect: cut-no-grad backbone.conv1.weight backbone.conv1.bias backbone.conv2.weight backbone.conv2.bias
            features = self.backbone(x)
        return self.fc(features)


torch.manual_seed(0)
images = torch.randn(48, 1, 8, 8)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
model = Classifier(Backbone(), 2)
optimizer = torch.optim.SGD([
    {"params": model.backbone.parameters(), "lr": 1e-3},
    {"params": model.fc.parameters(), "lr": 1e-2},
], momentum=0.9)
for epoch in range(3):
    for i in range(0, 48, 16):
        out = model(images[i:i + 16])
        loss = nn.functional.cross_entropy(out, labels[i:i + 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
