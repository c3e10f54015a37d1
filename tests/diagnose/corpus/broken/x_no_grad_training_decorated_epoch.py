"""The decorator of evaluate() was copied to the training method."""
import torch
from torch import nn


class Engine:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), lr=1e-3)

    @torch.inference_mode()  # expect: no-grad-training
    def train_epoch(self, batches):  # or: no-grad-training
        self.model.train()
        for x in batches:
            loss = nn.functional.mse_loss(self.model(x), x)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    @torch.inference_mode()
    def evaluate(self, batches):
        self.model.eval()
        return sum(nn.functional.mse_loss(self.model(x), x).item() for x in batches) / len(batches)


torch.manual_seed(0)
engine = Engine(nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 6)))
data = [torch.randn(16, 6) for _ in range(4)]
print(engine.evaluate(data))
engine.train_epoch(data)
print(engine.evaluate(data))
