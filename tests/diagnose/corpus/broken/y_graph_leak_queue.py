"""A writer with a queue: scalars are enqueued as tensors and flushed at the end."""
import queue
import torch
from torch import nn


class Writer:
    def __init__(self):
        self.events = queue.Queue()

    def add_scalar(self, tag, value, step):
        self.events.put((tag, value, step))  # expect: graph-leak

    def flush(self):
        rows = []
        while not self.events.empty():
            tag, value, step = self.events.get()
            rows.append(f"{step} {tag} {float(value):.4f}")
        return rows


def main():
    torch.manual_seed(0)
    writer = Writer()
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(70):
        x = torch.randn(16, 5)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        writer.add_scalar("train/loss", loss, step)
    print(writer.flush()[-1])


main()
