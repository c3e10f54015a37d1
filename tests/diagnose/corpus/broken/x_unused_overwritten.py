"""The second convolution takes x again instead of the first one's output."""
import torch
import torch.nn as nn


class AudioNet(nn.Module):
    def __init__(self):
        super(AudioNet, self).__init__()
        self.conv1 = nn.Conv1d(2, 8, 5, padding=2)  # or: unused
        self.conv2 = nn.Conv1d(2, 8, 5, padding=2)
        self.pool = nn.AdaptiveAvgPool1d(4)
        self.fc = nn.Linear(32, 2)

    def forward(self, x):
        h = torch.relu(self.conv1(x))  # expect: unused conv1.weight conv1.bias
        h = torch.relu(self.conv2(x))
        h = self.pool(h)
        return self.fc(h.view(h.size(0), -1))


torch.manual_seed(0)
net = AudioNet()
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
wave = torch.randn(40, 2, 30)
label = (wave.abs().mean(dim=(1, 2)) > 0.8).long()
for epoch in range(4):
    perm = torch.randperm(40)
    running = 0.0
    for i in range(0, 40, 10):
        idx = perm[i:i + 10]
        opt.zero_grad()
        loss = loss_fn(net(wave[idx]), label[idx])
        loss.backward()
        opt.step()
        running += loss.item()
    print(epoch, running / 4)
