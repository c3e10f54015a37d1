"""Plans of ``utils.checkpoint`` on networks of several kinds: memory and time, predicted and measured.

    python -m benchmarks.plans            # all
    python -m benchmarks.plans gpt unet

For each network and budget: the peak that was measured as a part of the budget (and where it is far below, that of the
next faster plan), the time as predicted and as measured, in times of the step without a plan, and that of
``checkpoint_sequential`` with the best number of segments that needs no more memory (networks that are a sequence),
ours and PyTorch's. PyTorch's has the same part of the memory of its own step, and its times are in times of its own
step. All ways to run a network alternate; the least time of each counts. Times are those of the processor, so that
other programs matter little: set ``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import wengert as torch
from tests.memory import nets
from wengert import nn
from wengert.memory import measure
from wengert.memory.plan import BudgetError, fitted
from wengert.nn import functional as F
from wengert.utils.checkpoint import checkpoint_sequential, plan

BUDGETS = (0.8, 0.6, 0.5, 0.4, 0.3)
measure.clock = time.process_time


def networks(torch=torch, nets=nets, nn=nn, F=F):
    """By name: model, input, loss, and the model as a sequence if it is one."""
    torch.manual_seed(0)
    image = torch.randn(16, 3, 32, 32)
    layers = [m for _ in range(12) for m in (nn.Linear(256, 256), nn.Tanh())]
    tokens, targets = torch.randint(65, (8, 128)), torch.randint(65, (8 * 128,))
    sentence = torch.randn(8, 96, 128)
    convolutions = [m for i in range(10) for m in (nn.Conv2d(3 if i == 0 else 24, 24, 3, padding=1), nn.BatchNorm2d(24),
        nn.ReLU())]
    wide = [1024, 768, 512, 256, 128, 256, 512, 768, 1024]
    square = nets.square

    def entropy(y):
        return F.cross_entropy(y.flatten(0, 1), targets)

    def gpt(model):
        first = lambda index: model.tokens(index) + model.positions(torch.arange(index.size(1)))  # noqa: E731
        return [first, *model.blocks, model.norm, model.head]

    return {
        "MLP": (nn.Sequential(*layers), torch.randn(2048, 256), square, list),
        "CNN": (nn.Sequential(*convolutions), image, square, list),
        "residual network": (nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), *[nets.Residual(24) for _ in range(8)]),
            image, square, list),
        "GPT, 12 layers": (nets.GPT(65, 128, 192, 12, 6), tokens, entropy, gpt),
        "GPT with dropout": (nets.GPT(65, 128, 128, 8, 4, dropout=0.1), tokens, entropy, gpt),
        "LSTM stack": (nets.Recurrent(128, 8), torch.randn(64, 40, 128), square,
            lambda m: [*((lambda x, f=f: f(x)[0]) for f in m.layers), lambda x: m.head(x[:, -1])]),
        "U-Net": (nets.UNet(24), image, square, None),
        "dense network": (nets.Dense(32, 16, 8), image, square, None),
        "transformer encoder": (nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True), 8),
            sentence, square, lambda m: list(m.layers)),
        "autoencoder": (nn.Sequential(*[m for a, b in pairwise(wide) for m in (nn.Linear(a, b), nn.Sigmoid())]),
            torch.randn(8192, 1024), square, list),
    }


def step(run, x, loss):
    """Bytes and seconds of forward, loss and backward."""
    torch.cpu.reset_peak_memory_stats()
    before, begin = torch.cpu.memory_allocated(), time.process_time()
    output = run(x)
    loss(output).backward()
    return torch.cpu.max_memory_allocated() - before, time.process_time() - begin


def alternating(model, runs, x, loss, rounds=5, step=step):
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


def segmented(sequence, segments, checkpoint=checkpoint_sequential):
    return lambda x: checkpoint(sequence, segments, x, use_reentrant=False)


def ways(sequence):
    """The numbers of segments to try: all up to six, then some."""
    count = len(sequence)
    return [n for n in range(1, count) if n <= 6 or n % 4 == 0]


class Theirs:
    """The same networks in PyTorch, with its ``checkpoint_sequential``."""

    def __init__(self):
        import torch as theirs  # theirs, not this package
        from torch.nn import functional
        from torch.utils.checkpoint import checkpoint_sequential as checkpoint

        theirs.set_num_threads(1)
        source = Path(nets.__file__).read_text(encoding="utf-8")
        module = ModuleType("their_nets")
        exec(source.replace("import wengert as torch", "import torch").replace("wengert", "torch"), vars(module))
        self.torch, self.checkpoint = theirs, checkpoint
        self.networks = networks(theirs, module, theirs.nn, functional)

    def bytes(self, model, run, x, loss):
        """What a step holds: allocations of PyTorch, as its profiler reports them."""
        model.zero_grad(set_to_none=True)
        with self.torch.profiler.profile(profile_memory=True) as found:
            loss(run(x)).backward()
        held = most = 0
        events = [e for e in found.profiler.kineto_results.events() if e.name() == "[memory]"]
        for event in sorted(events, key=lambda e: e.start_ns()):
            held += event.nbytes()
            most = max(most, held)
        return most

    def results(self, name, rounds):
        """The seconds of the plain step; for each number of segments bytes and seconds, in those of the plain step."""
        model, x, loss, form = self.networks[name]
        sequence = None if form is None else form(model)
        runs = [model, *(segmented(sequence, n, self.checkpoint) for n in ways(sequence or ()))]
        bytes_of = [self.bytes(model, run, x, loss) for run in runs]

        def timed(run, x, loss):
            begin = time.process_time()
            loss(run(x)).backward()
            return 0, time.process_time() - begin

        seconds = [row[1] for row in alternating(model, runs, x, loss, rounds, timed)]
        return seconds[0], [(b / bytes_of[0], t / seconds[0]) for b, t in zip(bytes_of[1:], seconds[1:])]


def best(rows, part):
    """The least time in this part of the memory, as text."""
    found = min((t for b, t in rows if b <= part), default=None)
    return "" if found is None else f"×{found:.3f}"


def following(whole, found):
    """Where a peak is far below the budget: the peak of the next plan that is faster, as text."""
    if found.peak >= 0.95 * found.budget:
        return ""
    for k in range(1, 200):
        more = fitted(whole.chain, int(found.budget * (1 + 0.005 * k)), layout=whole.layout)
        if more.time < found.time:
            return f" (next {more.peak / found.budget:.3f})"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=5, help="steps of each kind that are timed")
    args = parser.parse_args()
    chosen = args.names
    theirs = Theirs() if importlib.util.find_spec("torch") else None
    print("| network | budget | peak / budget | predicted | measured | equal segments | PyTorch's |")
    print("|---|---|---|---|---|---|---|")
    plains: list[str] = []
    for name, (model, x, loss, form) in networks().items():
        if chosen and not any(word.lower() in name.lower() for word in chosen):
            continue
        whole = plan(model, x, 1.0, loss=loss).plan
        plans = []
        for part in BUDGETS:
            try:
                plans.append(fitted(whole.chain, int(part * whole.plain_peak), layout=whole.layout))
            except BudgetError:
                break
        sequence = None if form is None else form(model)
        runs = [model, *(p.apply(model) for p in plans), *(segmented(sequence, n) for n in ways(sequence or ()))]
        (_, plain), *rows = alternating(model, runs, x, loss, args.rounds)
        others = [(b / whole.plain_peak, t / plain) for b, t in rows[len(plans) :]]
        their_plain, their = (0.0, []) if theirs is None else theirs.results(name, args.rounds)
        plains.append(f"{name}: {1000 * plain:.1f} ms, PyTorch's {1000 * their_plain:.1f} ms")
        for part, found, (held, seconds) in zip(BUDGETS, plans, rows):
            peak = f"{held / found.budget:.3f}{following(whole, found)}"
            print(f"| {name} | {part:.0%} | {peak} | ×{found.time / whole.plain_time:.3f} | "
                f"×{seconds / plain:.3f} | {best(others, part)} | {best(their, part)} |", flush=True)
        if len(plans) < len(BUDGETS):
            low = whole.least / whole.plain_peak
            print(f"| {name} | {BUDGETS[len(plans)]:.0%} | not reachable: the least is {low:.0%} | | | | |", flush=True)
    print("\nSteps without a plan: " + "; ".join(plains))


if __name__ == "__main__":
    main()
