"""A smoothed loss for the progress bar holds the graph of every step."""
import torch
import torch.nn.functional as F
from torch import nn


class LitModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 12))
        self.smooth = None

    def training_step(self, batch):
        noisy = batch + 0.2 * torch.randn_like(batch)
        loss = F.mse_loss(self.net(noisy), batch)
        if self.smooth is None:
            self.smooth = loss
        self.smooth = 0.95 * self.smooth + 0.05 * loss  # expect: graph-leak
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


torch.manual_seed(0)
model = LitModel()
opt = model.configure_optimizers()
mix = torch.randn(3, 12)
for i in range(40):
    loss = model.training_step(torch.randn(24, 3) @ mix)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, f"{model.smooth.item():.4f}")
