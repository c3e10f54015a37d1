"""Is this line English or Python? An LSTM reads it character by character and decides.

Both kinds of text ship with Python, so nothing is downloaded: prose from `pydoc_data.topics`, code from modules of
the standard library. Lines differ in length; a collate function pads them, and the model looks at the LSTM's output
at the last real character of each line.

    python examples/lstm_text.py
    python examples/lstm_text.py --steps 1000 --hidden 128
"""

import argparse
import ast
import pathlib
import subprocess
import sys
import typing
from pydoc_data.topics import topics

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, random_split

KINDS = ["English", "Python"]


def english():
    """Lines of the documentation that are not indented (those that are hold code)."""
    return [line for page in topics.values() for line in page.splitlines() if not line.startswith(" ")]


def python():
    """The simple statements of a few modules, without their documentation strings."""
    lines = []
    for module in (argparse, ast, pathlib, subprocess, typing):
        tree = ast.parse(pathlib.Path(module.__file__).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            compound = not isinstance(node, ast.stmt) or hasattr(node, "body")
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not (compound or docstring):
                lines += ast.unparse(node).splitlines()
    return lines


class Lines(Dataset):
    """Pairs of (the line's bytes as integers, which kind it is)."""

    def __init__(self, per_kind, longest=60):
        self.items = []
        for kind, lines in enumerate([english(), python()]):
            lines = [line[:longest] for line in dict.fromkeys(lines) if len(line) >= 20 and line.isascii()]
            chosen = torch.randperm(len(lines))[:per_kind].tolist()
            self.items += [(lines[i], kind) for i in chosen]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        line, kind = self.items[index]
        return torch.tensor(list(line.encode())), kind


def collate(batch):
    """Pad the lines of a batch with zeros: (batch, longest), lengths (batch,), kinds (batch,)."""
    lines, kinds = zip(*batch)
    lengths = torch.tensor([len(line) for line in lines])
    return pad_sequence(lines, batch_first=True), lengths, torch.tensor(kinds)


class Reader(nn.Module):
    def __init__(self, embedding=24, hidden=48, layers=1):
        super().__init__()
        self.characters = nn.Embedding(128, embedding, padding_idx=0)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=layers, batch_first=True)
        self.head = nn.Linear(hidden, len(KINDS))

    def forward(self, lines, lengths):
        outputs, _ = self.lstm(self.characters(lines))
        at_the_end = outputs[torch.arange(len(lines)), lengths - 1]
        return self.head(at_the_end)


@torch.no_grad()
def evaluate(model, loader):
    """Accuracy over the loader, and the lines that are the hardest to judge."""
    model.eval()
    right, doubtful = 0, []
    for lines, lengths, kinds in loader:
        probability = model(lines, lengths).softmax(dim=1)
        right += (probability.argmax(dim=1) == kinds).sum().item()
        for line, length, p in zip(lines, lengths, probability):
            doubtful.append((abs(p[1].item() - 0.5), p[1].item(), bytes(line[:length].tolist()).decode()))
    model.train()
    return right / len(loader.dataset), sorted(doubtful)[:3]


def report(step, steps, text):
    """Print a line for each step; on a terminal, one line with a bar that grows."""
    if sys.stdout.isatty():
        done = 24 * step // steps
        print(f"\r[{'#' * done}{'.' * (24 - done)}] {text}", end="\n" if step == steps else "", flush=True)
    else:
        print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = random_split(Lines(per_kind=1500), [0.8, 0.2])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(test_set, batch_size=100, collate_fn=collate)

    model = Reader(hidden=args.hidden, layers=args.layers)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.5)

    step = 0
    while step < args.steps:
        for lines, lengths, kinds in train_loader:
            loss = criterion(model(lines, lengths), kinds)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            step += 1
            report(step, args.steps, f"step {step} loss {loss.item():.6f}")
            if step == args.steps:
                break

    score, doubtful = evaluate(model, test_loader)
    print(f"test accuracy {score:.2%}; the hardest lines:")
    for _, p, line in doubtful:
        print(f"  {KINDS[p > 0.5]:>8} {max(p, 1 - p):.0%}  {line}")


if __name__ == "__main__":
    main()
