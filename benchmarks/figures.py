"""Figures that texts on autograd quote, measured: ``python -m benchmarks --figures [--rounds 7] [--write PAGE.md]``.

What a graph costs in time and memory, what checkpoints and accumulation change, what `no_grad` and `inference_mode`
save, how long a backward is beside its forward. Times: a process of each library stays, the two take turns, one thread,
processor time, the least of the rounds. Memory: a fresh process for each figure, the largest resident size during
steps less the size before them; code and parameters are there before. ``--write`` puts the tables into a page, between
lines ``<!-- NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import importlib
import itertools
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.child import forget_peak, resident
from benchmarks.machine import as_measured, environment
from benchmarks.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARIES = ("wengert", "torch")
LAYERS = 12
#: By name: title, and checkpointed groups of how many layers (0: none), of which every so many (1: all).
STEPS = {
    "forward": ("forward, `no_grad`", 0, 1), "recorded": ("forward, recorded", 0, 1),
    "step": ("forward and backward", 0, 1), "each": ("each layer checkpointed", 1, 1),
    "other": ("every other layer checkpointed", 1, 2), "blocks": ("4 blocks of 3 layers checkpointed", 3, 1),
    "one": ("one block of 12 layers checkpointed", 12, 1), "accumulate": ("8 small batches, accumulated", 0, 1),
}
MODELS = {"mlp": "12 linear layers of 512 with GELU, batch of 512",
    "transformer": "12 transformer layers of 128, 8 sequences of 128"}
CONTEXTS = {"plain": "recorded", "no_grad": "`no_grad`", "inference_mode": "`inference_mode`"}
NETWORKS = {"large": "1024-2048-2048-1024-10, batch of 256", "small": "four layers of 16, batch of 1",
    "transformer": MODELS["transformer"], "elementwise": "ten additions of 8 numbers"}
PAIRS = {
    "product": "product 32×512 by 512×256, both gradients", "square": "product 512×1024 by 1024×1024, both gradients",
    "data": "the same, only the weight's gradient", "gelu": "GELU of a million numbers",
    "softmax": "softmax of 1,000 rows of 1,000", "mlp": MODELS["mlp"], "transformer": MODELS["transformer"],
}


# -- what is measured --------------------------------------------------------------------------------------------------


def transformer_layer(torch: Any) -> Any:
    """Attention and two linear layers, each with a residual connection and a layer norm behind it."""
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(128, 4, batch_first=True)
            self.linear = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))
            self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)

        def forward(self, x: Any) -> Any:
            x = self.norm1(x + self.attention(x, x, x, need_weights=False)[0])
            return self.norm2(x + self.linear(x))

    return Layer()


def layers_of(torch: Any, name: str, small: bool = False) -> tuple[list[Any], Any]:
    """The layers of a model, and a batch; a small batch to load what the first step loads."""
    torch.manual_seed(0)
    if name == "mlp":
        layers = [torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU()) for _ in range(LAYERS)]
        return layers, torch.randn(8 if small else 512, 512)
    return [transformer_layer(torch) for _ in range(LAYERS)], torch.randn(*((8, 8, 128) if small else (8, 128, 128)))


def run_layers(torch: Any, layers: list[Any], x: Any, group: int, every: int) -> Any:
    """Through all layers, in checkpointed groups."""
    from_checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    for i in range(0, len(layers), group or 1):
        part = torch.nn.Sequential(*layers[i:i + (group or 1)])
        checkpointed = group and (i // group) % every == 0
        x = from_checkpoint(part, x, use_reentrant=False) if checkpointed else part(x)
    return x


def step_of(torch: Any, layers: list[Any], x: Any, kind: str) -> Callable[[], Any]:
    """A step of one kind of a table."""
    _, group, every = STEPS[kind]
    parameters = [p for layer in layers for p in layer.parameters()]

    def forward() -> Any:
        with torch.no_grad():
            return run_layers(torch, layers, x, 0, 1)

    def train(parts: list[Any]) -> None:
        for p in parameters:
            p.grad = None
        for part in parts:
            (run_layers(torch, layers, part, group, every).square().mean() / len(parts)).backward()

    if kind == "forward":
        return forward
    if kind == "recorded":
        return lambda: run_layers(torch, layers, x, 0, 1).square().mean()
    parts = list(x.chunk(8)) if kind == "accumulate" else [x]
    return lambda: train(parts)


def network_of(torch: Any, name: str) -> Callable[[], Any]:
    """A forward pass."""
    torch.manual_seed(0)
    if name == "transformer":
        layers, x = layers_of(torch, name)
        return lambda: run_layers(torch, layers, x, 0, 1)
    if name == "elementwise":
        w = torch.ones(8, requires_grad=True)

        def add() -> Any:
            y = w
            for _ in range(10):
                y = y + w
            return y

        return add
    sizes, batch = ([1024, 2048, 2048, 1024, 10], 256) if name == "large" else ([16] * 5, 1)
    parts: list[Any] = []
    for n, m in itertools.pairwise(sizes):
        parts += [torch.nn.Linear(n, m), torch.nn.ReLU()]
    model, x = torch.nn.Sequential(*parts[:-1]), torch.randn(batch, sizes[0])
    return lambda: model(x)


def context_of(torch: Any, way: str, network: Callable[[], Any]) -> Callable[[], Any]:
    """A forward pass in one of the contexts."""
    if way == "plain":
        return network
    context = getattr(torch, way)

    def within() -> Any:
        with context():
            return network()

    return within


def pair_of(torch: Any, name: str) -> Callable[[], Any]:
    """A forward whose result has a backward."""
    torch.manual_seed(0)
    make = lambda *shape, grad=True: torch.randn(*shape).requires_grad_(grad)  # noqa: E731
    if name in MODELS:
        layers, x = layers_of(torch, name)
        return lambda: run_layers(torch, layers, x, 0, 1)
    if name in ("product", "square", "data"):
        shape = (32, 512, 256) if name == "product" else (512, 1024, 1024)
        a, b = make(*shape[:2], grad=name != "data"), make(*shape[1:])
        return lambda: a @ b
    x = make(1000, 1000)
    return (lambda: torch.nn.functional.gelu(x)) if name == "gelu" else (lambda: torch.softmax(x, -1))


# -- in the child ------------------------------------------------------------------------------------------------------


def least(step: Callable[[], Any], seconds: float = 0.15) -> float:
    """The least processor time of a step, within about so many seconds; calls too short for the clock are grouped."""
    step()
    began, found, count = time.process_time(), float("inf"), 1
    while True:
        start = time.process_time()
        for _ in range(count):
            step()
        taken = time.process_time() - start
        found = min(found, taken / count)
        if taken < 2e-4:
            count *= 2
        if time.process_time() - began > seconds:
            return found


def both_passes(forward: Callable[[], Any]) -> list[float]:
    """The least time of a forward, and of its backward."""
    times = [float("inf")] * 2
    for i in range(30):
        clock = [time.process_time()]
        result = forward()
        clock.append(time.process_time())
        gradient = result.detach()
        clock.append(time.process_time())
        result.backward(gradient)
        clock.append(time.process_time())
        if i > 2:
            times = [min(times[0], clock[1] - clock[0]), min(times[1], clock[3] - clock[2])]
        if clock[3] - clock[0] > 0.05 and i > 7:
            break
    return times


def load(library: str) -> Any:
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    return torch


def serve(library: str) -> None:
    """Answer questions of a runner: ``TABLE ROW COLUMN``."""
    torch = load(library)
    for line in sys.stdin:
        table, row, column = line.split()
        if table == "steps":
            layers, x = layers_of(torch, row)
            answer: Any = least(step_of(torch, layers, x, column))
        elif table == "contexts":
            answer = least(context_of(torch, column, network_of(torch, row)))
        else:
            answer = both_passes(pair_of(torch, row))
        print(json.dumps(answer), flush=True)


def give_back(library: str) -> None:
    """Let the system have what was freed, so that a step that uses it again is seen to need it (Linux)."""
    gc.collect()
    if library == "wengert":
        importlib.import_module("wengert.arrays.memory").empty_cache()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def memory(library: str, model: str, kind: str) -> None:
    """Print the bytes by which a process grows in steps."""
    torch = load(library)
    layers, small = layers_of(torch, model, small=True)
    step_of(torch, layers, small, kind)()
    x = layers_of(torch, model)[1]
    step = step_of(torch, layers, x, kind)
    for p in (p for layer in layers for p in layer.parameters()):
        p.grad = None
    give_back(library)
    forget_peak()
    base = resident("VmRSS")
    for _ in range(3):
        step()
    print(json.dumps(resident("VmHWM") - base))


# -- tables ------------------------------------------------------------------------------------------------------------


def grown(library: str, model: str, kind: str) -> float:
    """Megabytes of a kind of step, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.figures", "--memory", library, model, kind]
    done = subprocess.run(command, env=environment(1, "unrestricted"), capture_output=True, text=True, check=True)
    return json.loads(done.stdout) / 1e6  # type: ignore[no-any-return]


def ask(questions: list[str], rounds: int) -> dict[str, list[Any]]:
    """The least answers to questions, of each library; they take turns."""
    runners = [Runner("benchmarks.figures", "--serve", library) for library in LIBRARIES]
    found: dict[str, list[Any]] = {}
    try:
        for question in questions:
            answers = [[runner.ask(question) for runner in runners] for _ in range(rounds)]
            found[question] = [smallest(column) for column in zip(*answers, strict=True)]
    finally:
        for runner in runners:
            runner.close()
    return found


def smallest(column: tuple[Any, ...]) -> Any:
    return [min(c) for c in zip(*column, strict=True)] if isinstance(column[0], list) else min(column)


def table(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows))


def show(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def steps_table(model: str, rounds: int) -> str:
    """Time and memory of kinds of steps; behind the slash, what the plain step takes in units of it."""
    times = ask([f"steps {model} {kind}" for kind in STEPS], rounds)
    bytes_of = {kind: [grown(library, model, kind) for library in LIBRARIES] for kind in STEPS}
    rows = []
    for kind, (title, *_) in STEPS.items():
        cells = [title]
        for i in range(2):
            taken, plain = times[f"steps {model} {kind}"][i], times[f"steps {model} step"][i]
            cells += [f"{show(taken)} ({taken / plain:.2f})",
                f"{bytes_of[kind][i]:.0f} MB ({bytes_of[kind][i] / bytes_of['step'][i]:.2f})"]
        rows.append(cells)
    return table(["step", "wengert: time", "memory", "PyTorch: time", "memory"], rows)


def contexts_table(rounds: int) -> str:
    """Forward passes in three contexts."""
    times = ask([f"contexts {row} {way}" for row in NETWORKS for way in CONTEXTS], rounds)
    rows = []
    for row, title in NETWORKS.items():
        cells = [title]
        for i in range(2):
            plain, *others = (times[f"contexts {row} {way}"][i] for way in CONTEXTS)
            cells += [show(plain), *(f"{(taken / plain - 1) * 100:+.0f}%" for taken in others)]
        rows.append(cells)
    ways = list(CONTEXTS.values())
    return table(["forward pass", f"wengert: {ways[0]}", *ways[1:], f"PyTorch: {ways[0]}", *ways[1:]], rows)


def passes_table(rounds: int) -> str:
    """A backward beside its forward."""
    times = ask([f"passes {row} -" for row in PAIRS], rounds)
    rows = []
    for row, title in PAIRS.items():
        cells = [title]
        for forward, backward in times[f"passes {row} -"]:
            cells += [show(forward), show(backward), f"{backward / forward:.2f}"]
        rows.append(cells)
    return table(["", "wengert: forward", "backward", "ratio", "PyTorch: forward", "backward", "ratio"], rows)


def put(page: str, name: str, content: str) -> str:
    """A page with the content between its marks replaced."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no place for {name}")
    return pattern.sub(lambda m: f"{m[1]}{content}\n{m[2]}", page)


def main(given: list[str]) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --figures", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=["steps-mlp", "steps-transformer", "contexts", "passes"])
    parser.add_argument("--write", type=Path, help="put the tables into this page")
    args = parser.parse_args(given)
    makers = {**{f"steps-{model}": lambda rounds, model=model: steps_table(model, rounds) for model in MODELS},
        "contexts": contexts_table, "passes": passes_table}
    found = {"machine": as_measured(1, "unrestricted")}
    for name, make in makers.items():
        if not args.only or name in args.only:
            found[name] = make(args.rounds)
    print("\n\n".join(found.values()))
    if args.write:
        page = args.write.read_text(encoding="utf-8")
        for name, content in found.items():
            page = put(page, name, content)
        args.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        memory(*sys.argv[2:])
