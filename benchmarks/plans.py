"""Plans of ``utils.checkpoint`` on networks of several kinds: memory and time, predicted and measured.

    python -m benchmarks.plans            # all
    python -m benchmarks.plans gpt unet

For each network and budget: the peak that was measured as a part of the budget, the time as predicted and as measured,
in times of the step without a plan, and that of ``checkpoint_sequential`` with the best number of segments that needs
no more memory (networks that are a sequence). Steps with and without a plan alternate; the least time of each counts.
Times are those of the processor, so that other programs matter little: set ``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise

import wengert as torch
from tests.memory.nets import GPT, Dense, Recurrent, Residual, UNet, square
from wengert import nn
from wengert.memory import measure
from wengert.memory.plan import BudgetError, fitted
from wengert.nn import functional as F
from wengert.utils.checkpoint import checkpoint_sequential, plan

BUDGETS = (0.8, 0.6, 0.5, 0.4, 0.3)
measure.clock = time.process_time


def networks():
    """By name: model, input, loss."""
    torch.manual_seed(0)
    image = torch.randn(16, 3, 32, 32)
    layers = [m for _ in range(12) for m in (nn.Linear(256, 256), nn.Tanh())]
    tokens, targets = torch.randint(65, (8, 128)), torch.randint(65, (8 * 128,))
    sentence = torch.randn(8, 96, 128)
    convolutions = [m for i in range(10) for m in (nn.Conv2d(3 if i == 0 else 24, 24, 3, padding=1), nn.BatchNorm2d(24),
        nn.ReLU())]
    wide = [1024, 768, 512, 256, 128, 256, 512, 768, 1024]
    return {
        "MLP": (nn.Sequential(*layers), torch.randn(2048, 256), square),
        "CNN": (nn.Sequential(*convolutions), image, square),
        "residual network": (nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), *[Residual(24) for _ in range(8)]), image,
            square),
        "GPT, 12 layers": (GPT(65, 128, 192, 12, 6), tokens, lambda y: F.cross_entropy(y.flatten(0, 1), targets)),
        "GPT with dropout": (GPT(65, 128, 128, 8, 4, dropout=0.1), tokens,
            lambda y: F.cross_entropy(y.flatten(0, 1), targets)),
        "LSTM stack": (Recurrent(128, 8), torch.randn(64, 40, 128), square),
        "U-Net": (UNet(24), image, square),
        "dense network": (Dense(32, 16, 8), image, square),
        "transformer encoder": (nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True), 8),
            sentence, square),
        "autoencoder": (nn.Sequential(*[m for a, b in pairwise(wide) for m in (nn.Linear(a, b), nn.Sigmoid())]),
            torch.randn(8192, 1024), square),
    }


def step(run, x, loss):
    """Bytes and seconds of forward, loss and backward."""
    torch.cpu.reset_peak_memory_stats()
    before, begin = torch.cpu.memory_allocated(), time.process_time()
    output = run(x)
    loss(output).backward()
    return torch.cpu.max_memory_allocated() - before, time.process_time() - begin


def alternating(model, runs, x, loss, rounds=5):
    """For each way to run the model the most bytes and the least seconds."""
    found = [[0, float("inf")] for _ in runs]
    for k in range(rounds + 1):
        for row, run in zip(found, runs):
            model.zero_grad(set_to_none=True)
            held, seconds = step(run, x, loss)
            row[0] = max(row[0], held)
            if k:
                row[1] = min(row[1], seconds)
    return found


def segmented(model, segments):
    return lambda x: checkpoint_sequential(model, segments, x, use_reentrant=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args().names
    print("| network | budget | peak / budget | predicted | measured | equal segments |")
    print("|---|---|---|---|---|---|")
    for name, (model, x, loss) in networks().items():
        if chosen and not any(word.lower() in name.lower() for word in chosen):
            continue
        whole = plan(model, x, 1.0, loss=loss).plan
        ways = range(2, len(model)) if isinstance(model, nn.Sequential) else ()
        others = alternating(model, [segmented(model, n) for n in ways], x, loss, 3)
        for part in BUDGETS:
            budget = int(part * whole.plain_peak)
            try:
                found = fitted(whole.chain, budget, layout=whole.layout)
            except BudgetError as error:
                low = error.least / whole.plain_peak
                print(f"| {name} | {part:.0%} | not reachable: the least is {low:.0%} | | | |")
                break
            (_, plain), (held, seconds) = alternating(model, [model, found.apply(model)], x, loss)
            best = min((t for n, t in others if n <= max(held, budget)), default=None)
            print(f"| {name} | {part:.0%} | {held / budget:.3f} | ×{found.time / whole.plain_time:.3f} | "
                f"×{seconds / plain:.3f} | {'' if best is None else f'×{best / plain:.3f}'} |", flush=True)


if __name__ == "__main__":
    main()
