"""An autoencoder trained in two phases: decoder alone first (encoder out of the optimizer on purpose), then all."""
import torch
from torch import nn

torch.manual_seed(0)


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 6), nn.Tanh())
        self.decoder = nn.Linear(6, 10)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def run(model, params, steps, lr):
    opt = torch.optim.Adam(params, lr=lr)
    for _ in range(steps):
        x = torch.randn(32, 3) @ mix
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x)
        loss.backward()
        opt.step()
    return loss.item()


mix = torch.randn(3, 10)
ae = AE()
ae.encoder.requires_grad_(False)
print("decoder", run(ae, ae.decoder.parameters(), 12, 1e-2))
ae.encoder.requires_grad_(True)
print("all", run(ae, ae.parameters(), 12, 5e-3))
