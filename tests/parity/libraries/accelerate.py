"""A loop prepared by an Accelerator: accumulated gradients, clipping, gathered metrics, a state saved and restored."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(3)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
inputs = torch.randint(0, 50, (400, 12))
labels = (inputs < 20).float().mean(1, keepdim=True)


class Reader(nn.Module):
    """A recurrent network that counts words."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.rnn = nn.GRU(16, 24, batch_first=True)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        return self.head(self.rnn(self.embedding(x))[0].mean(1))


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=60)
train = DataLoader(TensorDataset(inputs[:320], labels[:320]), batch_size=16, shuffle=True)
test = DataLoader(TensorDataset(inputs[320:], labels[320:]), batch_size=32)
model, optimizer, schedule, train, test = accelerator.prepare(model, optimizer, schedule, train, test)


def evaluate():
    model.eval()
    errors = []
    with torch.no_grad():
        for x, y in test:
            prediction, y = accelerator.gather_for_metrics((model(x), y))
            errors.append((prediction - y).abs().mean())
    model.train()
    return torch.stack(errors).mean().item()


def epoch():
    total = 0.0
    for x, y in train:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        total += loss.item()
    return total / len(train)


for _ in range(3):
    print(epoch(), evaluate(), optimizer.param_groups[0]["lr"])
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    after = epoch()
    accelerator.load_state(folder)
print(float(after == epoch()), evaluate())
print(sum(p.numel() for p in accelerator.unwrap_model(model).parameters()), accelerator.num_processes,
    accelerator.gradient_accumulation_steps)
