"""Plans of ``utils.checkpoint`` on networks of several kinds: memory and time, predicted and measured.

    python -m benchmarks.plans            # all
    python -m benchmarks.plans gpt unet

For each network and budget: the peak that was measured as a part of the budget (and where one far below was predicted,
the peak of the next faster plan, with a star where it is certain that no faster one fits), the time as predicted and as
measured, in times of the step without a plan, and that of ``checkpoint_sequential`` with the best number of segments
that needs no more memory (networks that are a sequence), ours and PyTorch's. PyTorch's is read in two ways. "Same
part": its best in the same part of the memory of its own step, in times of its own step. "Same bytes": the milliseconds
of that, and of our plan for as many bytes as it holds. All ways to run a network alternate, those of both libraries;
the least time of each counts. Times are those of the processor, so that other programs matter little: set
``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import wengert as torch
from tests.memory import nets
from wengert import nn
from wengert.memory import measure
from wengert.memory.chain import simulate
from wengert.memory.plan import BudgetError, fitted
from wengert.memory.solver import Sizes, Table
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


def step(model, run, x, loss):
    """Bytes and seconds of forward, loss and backward."""
    model.zero_grad(set_to_none=True)
    torch.cpu.reset_peak_memory_stats()
    before, begin = torch.cpu.memory_allocated(), time.process_time()
    output = run(x)  # held until the end, as programs do
    loss(output).backward()
    seconds = time.process_time() - begin
    return torch.cpu.max_memory_allocated() - before, seconds


def alternating(steps, rounds=5):
    """For each kind of step the most bytes and the least seconds."""
    found = [[0, float("inf")] for _ in steps]
    for k in range(rounds + 1):
        for row, run in zip(found, steps):
            held, seconds = run()
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
            output = run(x)
            loss(output).backward()
        held = most = 0
        events = [e for e in found.profiler.kineto_results.events() if e.name() == "[memory]"]
        for event in sorted(events, key=lambda e: e.start_ns()):
            held += event.nbytes()
            most = max(most, held)
        return most

    def steps(self, name):
        """For the plain step, and for each number of segments, its bytes and a function that gives its seconds."""
        model, x, loss, form = self.networks[name]
        sequence = None if form is None else form(model)
        runs = [model, *(segmented(sequence, n, self.checkpoint) for n in ways(sequence or ()))]

        def timed(run):
            model.zero_grad(set_to_none=True)
            begin = time.process_time()
            output = run(x)
            loss(output).backward()
            return 0, time.process_time() - begin

        return [(self.bytes(model, run, x, loss), partial(timed, run)) for run in runs]


def best(rows, part):
    """Of the rows (part of the memory, time, …) with at most this part the one of the least time."""
    return min((row for row in rows if row[0] <= part), key=lambda row: row[1], default=None)


def times(row):
    """The time of such a row, as text."""
    return "" if row is None else f"×{row[1]:.3f}"


def is_fastest(chain, found):
    """Whether no schedule that the solver knows is faster within the budget, whatever it rounds.

    Sizes are rounded so that the sum of neighbours is right to a step. At no time are more than n pieces held, so that
    with 2n + 4 steps more than the budget the table allows whatever fits exactly. It counts what is let go early.
    """
    n, unit = len(chain.blocks), max(1, found.budget // 12000)
    table = Table(Sizes(chain), found.budget + chain.early + (2 * n + 4) * unit, unit)
    return table.t[0, 0, n - 1, -1] >= simulate(chain, found.schedule).time * (1 - 1e-5)


def following(whole, found):
    """Where a peak is predicted to be far below the budget: the peak of the next plan that is faster, as text; with a
    star where it is certain that no faster one fits.
    """
    if found.peak >= 0.95 * found.budget:
        return ""
    star = "*" if is_fastest(whole.chain, found) else ""
    for k in range(1, 200):
        more = fitted(whole.chain, int(found.budget * (1 + 0.005 * k)), layout=whole.layout)
        if more.time < found.time:
            return f" (next {more.peak / found.budget:.3f}{star})"
    return star


def plans_of(whole, parts):
    """By part of the memory of the plain step the plans that there are."""
    found = {}
    for part in parts:
        try:
            found[part] = fitted(whole.chain, int(part * whole.plain_peak), layout=whole.layout)
        except BudgetError:
            continue
    return found


def measured(name, network, theirs, rounds):
    """Print the rows of a network: what the plain steps take, as text."""
    model, x, loss, form = network
    whole = plan(model, x, 1.0, loss=loss).plan
    sequence = None if form is None else form(model)
    other = [] if theirs is None else theirs.steps(name)
    plans = plans_of(whole, BUDGETS)
    same = plans_of(whole, {held / whole.plain_peak for held, _ in other})  # in PyTorch's bytes
    runs = [model, *(p.apply(model) for p in (*plans.values(), *same.values())),
        *(segmented(sequence, n) for n in ways(sequence or ()))]
    rows = alternating([*(partial(step, model, run, x, loss) for run in runs), *(run for _, run in other)], rounds)
    ours, their_seconds = rows[1 : len(runs)], [seconds for _, seconds in rows[len(runs) :]]
    plain = rows[0][1]
    equal = [(held / whole.plain_peak, seconds / plain) for held, seconds in ours[len(plans) + len(same) :]]
    at = dict(zip(same, (seconds for _, seconds in ours[len(plans) :])))
    theirs_of = [(held / other[0][0], seconds / their_seconds[0], seconds, at.get(held / whole.plain_peak))
        for (held, _), seconds in list(zip(other, their_seconds))[1:]]
    for (part, found), (held, seconds) in zip(plans.items(), ours):
        row = best(theirs_of, part)
        both = "" if row is None or row[3] is None else f"{1000 * row[3]:.1f} / {1000 * row[2]:.1f}"
        print(f"| {name} | {part:.0%} | {held / found.budget:.3f}{following(whole, found)} | "
            f"×{found.time / whole.plain_time:.3f} | ×{seconds / plain:.3f} | {times(best(equal, part))} | "
            f"{times(row)} | {both} |", flush=True)
    if len(plans) < len(BUDGETS):
        low = whole.least / whole.plain_peak
        print(f"| {name} | {BUDGETS[len(plans)]:.0%} | not reachable: the least is {low:.0%} | | | | | |", flush=True)
    text = f"{name}: {1000 * plain:.1f} ms in {whole.plain_peak / 1e6:.1f} MB"
    return text if not other else f"{text}, PyTorch's {1000 * their_seconds[0]:.1f} ms in {other[0][0] / 1e6:.1f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=5, help="steps of each kind that are timed")
    args = parser.parse_args()
    chosen = args.names
    theirs = Theirs() if importlib.util.find_spec("torch") else None
    print("| network | budget | peak / budget | predicted | measured | equal segments | PyTorch's, same part | "
        "same bytes: ours / PyTorch's, ms |")
    print("|---|---|---|---|---|---|---|---|")
    plains = [measured(name, network, theirs, args.rounds) for name, network in networks().items()
        if not chosen or any(word.lower() in name.lower() for word in chosen)]
    print("\nSteps without a plan: " + "; ".join(plains))


if __name__ == "__main__":
    main()
