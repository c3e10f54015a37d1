"""Measure calls that programs of libraries make often, on both libraries.

usage: python -m benchmarks --calls [--only TEXT ...] [--rounds 3] [--seconds 0.05] [--json FILE] [--before FILE]

The small rows of data loaders, samplers of images, random numbers, sparse and small matrices, what a training loop does
with many tensors. One thread; the libraries alternate, each in fresh processes; quoted are medians over rounds of
medians over calls, of the wall clock. Ratios are wengert / torch: below 1 is a win.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import BLAS, as_measured, environment

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARIES = ("wengert", "torch")

#: What the expressions below name, made before them on either library.
MADE = """
import copy, io
import numpy as np
from torch.utils.data import DataLoader, TensorDataset, default_collate, default_convert
torch.manual_seed(0)
rng = np.random.default_rng(0)
nn, F, D, utils = torch.nn, torch.nn.functional, torch.distributions, torch.nn.utils
row, rows = rng.standard_normal(20).astype("f4"), [rng.standard_normal(20).astype("f4") for _ in range(64)]
tensors = [torch.randn(20) for _ in range(64)]
pairs = [(a, i % 3) for i, a in enumerate(rows)]
dicts = [{"x": t, "y": i % 3, "w": 0.5} for i, t in enumerate(tensors)]
numbers, floats, scalars = [*range(64)], [i / 7 for i in range(64)], [np.float32(i) for i in range(64)]
data = TensorDataset(torch.randn(512, 20), torch.randint(3, (512,)))
image, small = torch.randn(4, 3, 32, 32), torch.randn(2, 1, 6, 6)
image_grad, theta = image.clone().requires_grad_(), torch.eye(2, 3).repeat(4, 1, 1)
grid, small_grid = torch.rand(4, 16, 16, 2) * 2 - 1, torch.rand(2, 5, 5, 2) * 2 - 1
grid_grad = grid.clone().requires_grad_()
volume, volume_grid = torch.randn(1, 2, 8, 8, 8), torch.rand(1, 6, 6, 6, 3) * 2 - 1
v8, v16, v1000, v64 = torch.empty(8), torch.empty(16), torch.empty(1000), torch.empty(64, 64)
v20000 = torch.empty(20_000)
gamma, gamma_grad = torch.rand(100) + 0.5, (torch.rand(100) + 0.5).requires_grad_()
dense = torch.randn(200, 200) * (torch.rand(200, 200) < 0.05)
coo, csr, columns = dense.to_sparse(), dense.to_sparse_csr(), torch.randn(200, 16)
few = torch.sparse_coo_tensor(torch.randint(20, (2, 40)), torch.rand(40), (20, 20)).coalesce()
few_grad, twenty = few.clone().requires_grad_(), torch.randn(20, 4)
half = torch.randn(5, 5)
spd, spd_grad = half @ half.mT + 5 * torch.eye(5), (half @ half.mT + 5 * torch.eye(5)).requires_grad_()
lower, right = torch.linalg.cholesky(spd), torch.randn(5, 3)
batch_half = torch.randn(16, 4, 4)
batch_spd = batch_half @ batch_half.mT + 4 * torch.eye(4)
bag, words = nn.EmbeddingBag(1000, 32), torch.randint(1000, (16, 10))
flat_words, offsets, weights = words.reshape(-1), torch.arange(0, 160, 10), torch.rand(16, 10)
summing_bag = nn.EmbeddingBag(1000, 32, mode="sum")
net = nn.Sequential(*(nn.Linear(16, 16) for _ in range(20)))
deep = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 3, enable_nested_tensor=False)
state = {name: t.clone() for name, t in net.state_dict().items()}
many = [torch.randn(10, requires_grad=True) for _ in range(200)]
for t in many:
    t.grad = torch.randn(10)
sgd = torch.optim.SGD([{"params": [t]} for t in many[:50]], lr=1e-6, momentum=0.9)
adam = torch.optim.Adam([{"params": [t]} for t in many[:50]], lr=1e-6)
rms = torch.optim.RMSprop(many[:50], lr=1e-6)
recorded, leaf, i3 = torch.zeros(4, 5), torch.randn(4, 5, requires_grad=True), torch.tensor([0, 2])
leaf1, mask = torch.randn(5, requires_grad=True), torch.rand(4, 5) > 0.5
normal = D.Normal(torch.zeros(8), torch.ones(8))
def written(write):
    t = leaf * 1
    write(t)
    return t
"""
#: The same, before the calls of "subclasses", which are the last: one such class makes functions of wengert ask.
MADE_LAST = """
class Named(torch.Tensor):
    pass
class Counted(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})
named, counted = torch.randn(4).as_subclass(Named), torch.randn(4).as_subclass(Counted)
"""

CALLS: dict[str, dict[str, str]] = {
    "data": {
        "as_tensor of a row": "torch.as_tensor(row)", "from_numpy": "torch.from_numpy(row)",
        "tensor of a list": "torch.tensor(numbers)", "tensor of a number": "torch.tensor(0.5)",
        "stack of 64 rows": "torch.stack(tensors)", "cat of 64 rows": "torch.cat(tensors)",
        "default_convert of a pair": "default_convert((row, 1))",
        "collate 64 tensors": "default_collate(tensors)", "collate 64 arrays": "default_collate(rows)",
        "collate 64 pairs": "default_collate(pairs)", "collate 64 dicts": "default_collate(dicts)",
        "collate 64 ints": "default_collate(numbers)", "collate 64 floats": "default_collate(floats)",
        "collate 64 numbers of NumPy": "default_collate(scalars)",
        "TensorDataset[i]": "data[7]", "row and item": "data.tensors[0][7][3].item()",
        "DataLoader, pairs of arrays": "[*DataLoader(pairs, 8)]", "DataLoader, dicts": "[*DataLoader(dicts, 8)]",
        "DataLoader, TensorDataset shuffled": "[*DataLoader(data, 32, shuffle=True)]",
        "iterate over 64 rows": "[*data.tensors[0][:64]]", "unbind": "data.tensors[0][:64].unbind()",
    },
    "images": {
        "grid_sample 2×1×6×6": "F.grid_sample(small, small_grid, align_corners=False)",
        "grid_sample 4×3×32×32": "F.grid_sample(image, grid, align_corners=False)",
        "grid_sample, reflection": "F.grid_sample(image, grid, padding_mode='reflection', align_corners=True)",
        "grid_sample, nearest": "F.grid_sample(image, grid, 'nearest', align_corners=False)",
        "grid_sample, bicubic": "F.grid_sample(image, grid, 'bicubic', align_corners=False)",
        "grid_sample, volume": "F.grid_sample(volume, volume_grid, align_corners=False)",
        "grid_sample, both gradients": "torch.autograd.grad(F.grid_sample(image_grad, grid_grad, "
            "align_corners=False).sum(), [image_grad, grid_grad])",
        "affine_grid": "F.affine_grid(theta, (4, 3, 16, 16), align_corners=False)",
        "interpolate bilinear 6 to 12": "F.interpolate(small, scale_factor=2, mode='bilinear')",
        "interpolate bilinear 32 to 48": "F.interpolate(image, size=48, mode='bilinear')",
        "interpolate bilinear, gradient":
            "torch.autograd.grad(F.interpolate(image_grad, size=48, mode='bilinear').sum(), image_grad)",
        "interpolate bicubic": "F.interpolate(image, size=48, mode='bicubic')",
        "interpolate nearest": "F.interpolate(image, size=48)",
        "pad reflect": "F.pad(image, (1, 1, 1, 1), mode='reflect')",
    },
    "random": {
        "normal_ of 8": "v8.normal_()", "normal_ of 1000": "v1000.normal_()",
        "normal_ of 64×64": "v64.normal_(1.0, 2.0)",
        "uniform_ of 8": "v8.uniform_()", "uniform_ of 20000": "v20000.uniform_(-1, 1)",
        "bernoulli_ of 1000": "v1000.bernoulli_(0.3)", "exponential_ of 1000": "v1000.exponential_()",
        "randn(16)": "torch.randn(16)", "normal of tensors": "torch.normal(v16, 1.0)",
        "Gamma.sample of 100": "D.Gamma(gamma, 1.0).sample()",
        "Gamma.rsample of 100, gradient": "D.Gamma(gamma_grad, 1.0).rsample().sum().backward()",
        "Normal, rsample and log_prob": "normal.log_prob(normal.rsample())", "Linear(16, 16)": "nn.Linear(16, 16)",
    },
    "matrices": {
        "sparse.mm, coo": "torch.sparse.mm(coo, columns)", "sparse.mm, csr": "csr @ columns",
        "sparse.mm, coo 20×20": "torch.sparse.mm(few, twenty)",
        "sparse.mm, gradient": "torch.sparse.mm(few_grad, twenty).sum().backward()",
        "coalesce": "torch.sparse_coo_tensor(few.indices(), few.values(), (20, 20)).coalesce()",
        "cholesky 5×5": "torch.linalg.cholesky(spd)", "cholesky 16×4×4": "torch.linalg.cholesky(batch_spd)",
        "cholesky, gradient": "torch.linalg.cholesky(spd_grad).sum().backward()",
        "solve_triangular 5×5": "torch.linalg.solve_triangular(lower, right, upper=False)",
        "cholesky_solve 5×5": "torch.cholesky_solve(right, lower)", "solve 5×5": "torch.linalg.solve(spd, right)",
        "inv 5×5": "torch.linalg.inv(spd)", "EmbeddingBag": "bag(words)",
        "EmbeddingBag, offsets": "bag(flat_words, offsets)",
        "EmbeddingBag, weights": "summing_bag(words, per_sample_weights=weights)",
        "EmbeddingBag, gradient": "bag(words).sum().backward()",
    },
    "loops": {
        "clip_grad_norm_ of 200": "utils.clip_grad_norm_(many, 1e9)",
        "clip_grad_value_ of 200": "utils.clip_grad_value_(many, 1e9)",
        "state_dict of 20 layers": "net.state_dict()", "load_state_dict of 20 layers": "net.load_state_dict(state)",
        "deepcopy of 20 layers": "copy.deepcopy(net)", "deepcopy of an encoder": "copy.deepcopy(deep)",
        "save": "torch.save(state, io.BytesIO())",
        "parameters_to_vector": "utils.parameters_to_vector(net.parameters())",
        "named_parameters": "[*deep.named_parameters()]", "SGD, 50 groups": "sgd.step()",
        "Adam, 50 groups": "adam.step()", "RMSprop, 50 parameters": "rms.step()",
        "zero_grad to zero": "sgd.zero_grad(set_to_none=False)",
        "recorded t[0] = x": "written(lambda t: t.__setitem__(0, leaf1))",
        "recorded t[:, 1] = 0": "written(lambda t: t.__setitem__((slice(None), 1), 0.0))",
        "recorded t[index] = x": "written(lambda t: t.__setitem__(i3, leaf1))",
        "recorded t[mask] = 0": "written(lambda t: t.__setitem__(mask, 0.0))",
        "recorded add_": "written(lambda t: t.add_(leaf))",
        "recorded masked_fill_": "written(lambda t: t.masked_fill_(mask, 0.0))",
        "recorded mul_ of a view": "written(lambda t: t[:, :2].mul_(2.0))",
    },
    "subclasses": {
        "subclass times two": "named * 2", "subclass with __torch_function__": "counted * 2",
        "subclass, shape and detach": "named.detach().shape",
    },
}


def clock(function: Callable[[], Any], seconds: float) -> float:
    """The median time of a call, of groups of calls that the clock can resolve."""
    function()
    start = time.perf_counter()
    function()
    group = max(1, int(2e-4 / max(time.perf_counter() - start, 1e-7)))
    samples: list[float] = []
    began = time.perf_counter()
    while len(samples) < 5 or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        for _ in range(group):
            function()
        samples.append((time.perf_counter() - start) / group)
    return statistics.median(samples)


def child(library: str, names: list[str], seconds: float) -> None:
    """Print the times of the named calls as one JSON object."""
    torch = sys.modules["torch"] = importlib.import_module(library)
    if library != "torch":
        for module in ("utils", "utils.data"):
            sys.modules[f"torch.{module}"] = importlib.import_module(f"{library}.{module}")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    named: dict[str, Any] = {"torch": torch}
    exec(MADE, named)
    times: dict[str, float] = {}
    expressions = {name: text for calls in CALLS.values() for name, text in calls.items()}
    for name in names:
        if name in CALLS["subclasses"] and "named" not in named:
            exec(MADE_LAST, named)
        try:
            times[name] = clock(eval(f"lambda: {expressions[name]}", named), seconds)
        except Exception as error:  # a call that one library refuses is shown without a ratio
            print(f"{library}: {name}: {error!r}", file=sys.stderr)
    print(json.dumps(times))


def measure(names: list[str], rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """The median over rounds of the time of each call, by library."""
    found: dict[str, dict[str, list[float]]] = {library: {} for library in LIBRARIES}
    for _ in range(rounds):
        for library, times in found.items():
            command = [sys.executable, "-m", "benchmarks.calls", library, json.dumps(names), str(seconds)]
            done = subprocess.run(command, env=environment(1, BLAS[0]), stdout=subprocess.PIPE, text=True, check=True)
            for name, time_of_call in json.loads(done.stdout.splitlines()[-1]).items():
                times.setdefault(name, []).append(time_of_call)
    return {library: {name: statistics.median(each) for name, each in of.items()} for library, of in found.items()}


def table(found: dict[str, dict[str, float]], names: list[str], before: dict[str, dict[str, float]]) -> str:
    """A row for each call: both times and the ratio, bold where PyTorch is faster, after the ratio ``before``."""
    lines = ["| call | PyTorch, wengert (µs) | before | ratio |", "|---|---|---|---|"]
    for name in names:
        if all(name in found[library] for library in LIBRARIES):
            ours, theirs = (found[library][name] for library in LIBRARIES)
            ratio = ours / theirs
            old = before["wengert"][name] / before["torch"][name] if name in before.get("wengert", {}) else None
            lines.append(f"| {name} | {theirs * 1e6:.4g}, {ours * 1e6:.4g} | {'' if old is None else f'{old:.2f}'} | "
                + (f"**{ratio:.2f}**" if ratio > 1.05 else f"{ratio:.2f}") + " |")
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --calls", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="calls or groups with one of these in their names")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.05, help="how long each call is measured")
    parser.add_argument("--json", help="write every figure to this file")
    parser.add_argument("--before", help="a file of --json, whose ratios stand beside the new ones")
    args = parser.parse_args(argv)
    names = [name for group, calls in CALLS.items() for name in calls
        if not args.only or any(text in (group, name) or text in name for text in args.only)]
    found = measure(names, args.rounds, args.seconds)
    before = json.loads(Path(args.before).read_text()) if args.before else {}
    ratios = [found["wengert"][name] / found["torch"][name] for name in names
        if all(name in times for times in found.values())]
    print(f"{as_measured(1, BLAS[0])}.\n\n{table(found, names, before)}\n")
    print(f"median of {len(ratios)} ratios: {statistics.median(ratios):.2f}; above 1.5: {sum(r > 1.5 for r in ratios)}")
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    child(sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3]))
