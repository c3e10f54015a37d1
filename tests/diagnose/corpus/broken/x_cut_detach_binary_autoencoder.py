"""An autoencoder with a binary code and a straight-through estimator whose parenthesis is in the wrong place."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BinaryAutoencoder(nn.Module):
    def __init__(self, inputs=20, bits=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, bits))
        self.dec = nn.Sequential(nn.Linear(bits, 32), nn.ReLU(), nn.Linear(32, inputs))

    def forward(self, x):
        p = torch.sigmoid(self.enc(x))
        code = (p + torch.round(p) - p).detach()  # expect: cut-detach enc.0.weight enc.0.bias enc.2.weight enc.2.bias
        return self.dec(code)


def fit(model, loader, epochs):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    for epoch in range(epochs):
        total = 0.0
        for (batch,) in loader:
            loss = nn.functional.mse_loss(model(batch), batch)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            total += loss.item() * len(batch)
        print(epoch, total / len(loader.dataset))


torch.manual_seed(0)
basis = torch.randn(4, 20)
data = torch.randint(0, 2, (128, 4)).float() @ basis
fit(BinaryAutoencoder(), DataLoader(TensorDataset(data), batch_size=32, shuffle=True), epochs=5)
