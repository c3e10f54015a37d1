"""Measure single operators on both libraries, forward and with their gradients, in three sizes.

usage: python -m benchmarks --operators [--only NAME ...] [--rounds 2] [--blas unrestricted|avx2] [--above 1.0]
                                         [--table FILE.md]

CPU time of one thread, so that a machine that is busy with other things disturbs little; the libraries alternate, each
in fresh processes, and the best round counts. Ratios are wengert / torch: below 1 is a win.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import BLAS, as_measured, environment

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (8, 256, 2048)
LIBRARIES = ("wengert", "torch")

#: Expressions of: x, y, z matrices (n, n); p one with entries in (0, 1); r a row, k a column; c a mask, i places along
#: a dimension, t classes, rows some rows, w what is written to; image (N, C, H, W), volume (N, C, D, H, W), wide and
#: half in bfloat16 and float16.
POINTWISE = {
    "add": "x + y", "add number": "x + 2.5", "add row": "x + r", "subtract": "x - y", "multiply": "x * y",
    "multiply column": "x * k", "divide": "x / y", "divide number": "x / 3.0", "negative": "-x",
    "reciprocal": "p.reciprocal()", "abs": "x.abs()", "sign": "x.sign()", "square": "x.square()", "cube": "x ** 3",
    "pow 1.5": "p ** 1.5", "pow tensor": "p ** y", "sqrt": "p.sqrt()", "rsqrt": "p.rsqrt()", "exp": "x.exp()",
    "exp2": "x.exp2()", "expm1": "x.expm1()", "log": "p.log()", "log1p": "p.log1p()", "log2": "p.log2()",
    "sin": "x.sin()", "cos": "x.cos()", "tan": "x.tan()", "asin": "p.asin()", "atan": "x.atan()",
    "atan2": "torch.atan2(x, y)", "sinh": "x.sinh()", "tanh": "x.tanh()", "sigmoid": "x.sigmoid()",
    "logit": "p.logit()", "erf": "x.erf()", "erfc": "x.erfc()", "erfinv": "p.erfinv()", "lgamma": "p.lgamma()",
    "digamma": "p.digamma()", "floor": "x.floor()", "round": "x.round()", "remainder": "x.remainder(y)",
    "fmod": "x.fmod(y)", "floor divide": "x.detach() // y.detach()", "hypot": "torch.hypot(x, y)",
    "logaddexp": "torch.logaddexp(x, y)", "maximum": "torch.maximum(x, y)", "minimum": "torch.minimum(x, y)",
    "clamp": "x.clamp(-1, 1)", "lerp": "torch.lerp(x, y, 0.3)", "addcmul": "torch.addcmul(x, y, z)",
    "where": "torch.where(c, x, y)", "where number": "torch.where(c, x, 0.0)", "masked_fill": "x.masked_fill(c, 0.0)",
    "less": "x < y", "isnan": "x.isnan()", "xlogy": "torch.xlogy(x, p)", "nan_to_num": "x.nan_to_num()",
    "fill": "w.fill_(1.0)", "clone": "x.clone()", "to double": "x.double()", "to bfloat16": "x.bfloat16()",
    "to half": "x.half()", "in-place add": "w.add_(y.detach())",
}
ACTIVATIONS = {
    "relu": "F.relu(x)", "gelu": "F.gelu(x)", "gelu tanh": "F.gelu(x, approximate='tanh')", "silu": "F.silu(x)",
    "elu": "F.elu(x)", "leaky_relu": "F.leaky_relu(x)", "softplus": "F.softplus(x)", "hardswish": "F.hardswish(x)",
    "mish": "F.mish(x)", "logsigmoid": "F.logsigmoid(x)", "softsign": "F.softsign(x)", "prelu": "F.prelu(x, r[:1])",
    "glu": "F.glu(x)", "dropout": "F.dropout(x, 0.3)", "softmax": "x.softmax(-1)", "softmax of columns": "x.softmax(0)",
    "log_softmax": "x.log_softmax(-1)", "layer_norm": "F.layer_norm(x, (n,), r, r)",
    "rms_norm": "F.rms_norm(x, (n,), r)", "batch_norm": "F.batch_norm(image, None, None, training=True)",
    "normalize": "F.normalize(x, dim=-1)",
}
REDUCTIONS = {
    "sum": "x.sum()", "sum of rows": "x.sum(1)", "sum of columns": "x.sum(0)", "mean": "x.mean()",
    "mean of rows": "x.mean(1)", "var of rows": "x.var(1)", "std": "x.std()", "norm": "x.norm()",
    "norm of rows": "x.norm(dim=1)", "prod of rows": "p.prod(1)", "max": "x.max()", "max of rows": "x.max(1)[0]",
    "max of columns": "x.max(0)[0]", "amax of rows": "x.amax(1)", "argmax": "x.argmax(1)", "min of rows": "x.min(1)[0]",
    "any": "c.any()", "all of rows": "c.all(1)", "logsumexp": "x.logsumexp(1)", "cumsum": "x.cumsum(1)",
    "cumsum of columns": "x.cumsum(0)", "cumprod": "p.cumprod(1)", "cummax": "x.cummax(1)[0]", "sort": "x.sort(1)[0]",
    "topk": "x.topk(5, 1)[0]", "median": "x.median(1)[0]", "count_nonzero": "c.count_nonzero()",
    "cross_entropy": "F.cross_entropy(x, t)", "nll_loss": "F.nll_loss(x, t)", "mse_loss": "F.mse_loss(x, y)",
    "l1_loss": "F.l1_loss(x, y)", "smooth_l1_loss": "F.smooth_l1_loss(x, y)",
    "kl_div": "F.kl_div(x, p, reduction='batchmean')", "bce with logits": "F.binary_cross_entropy_with_logits(x, p)",
    "bce": "F.binary_cross_entropy(p, p.detach())",
}
SHAPES = {
    "transpose, copied": "x.t().contiguous()", "reshape": "x.reshape(-1)", "expand": "k.expand(n, n).clone()",
    "cat": "torch.cat((x, y))", "cat of rows": "torch.cat((x, y), 1)", "stack": "torch.stack((x, y))",
    "split": "x.split(4, 1)[0]", "chunk, added": "sum(x.chunk(2, 1))", "slice": "x[1:, ::2]", "select": "x[3]",
    "x[rows]": "x[rows]", "x[rows, rows]": "x[rows, rows]", "x[mask]": "x[c]",
    "index_select": "x.index_select(0, rows)", "gather": "x.gather(1, i)", "scatter_add": "x.scatter_add(1, i, y)",
    "scatter": "x.scatter(1, i, y)", "index_add": "x.index_add(0, rows, y)", "take_along_dim": "x.take_along_dim(i, 1)",
    "embedding": "F.embedding(i, x[:, :8])", "tril": "x.tril()", "flip": "x.flip(1)", "roll": "x.roll(1, 1)",
    "pad": "F.pad(x, (1, 1, 1, 1))", "repeat": "x.repeat(2, 1)", "repeat_interleave": "r.repeat_interleave(n)",
    "diagonal": "x.diagonal()", "one_hot": "F.one_hot(t, n)", "unfold": "F.unfold(image, 3)",
    "masked_select": "x.masked_select(c)", "nonzero": "c.nonzero()",
}
PRODUCTS = {
    "matmul": "x @ y", "linear": "F.linear(x, y, r)", "matrix times vector": "x @ r",
    "bmm": "image.flatten(0, 1) @ image.flatten(0, 1).mT", "addmm": "torch.addmm(x, y, z)",
    "einsum": "torch.einsum('ij,ij->i', x, y)", "dot": "r.dot(r)", "outer": "torch.outer(r, r)",
}
IMAGES = {
    "max_pool2d": "F.max_pool2d(image, 2)", "max_pool2d 3, stride 2": "F.max_pool2d(image, 3, 2, 1)",
    "avg_pool2d": "F.avg_pool2d(image, 2)", "avg_pool2d 3, stride 2": "F.avg_pool2d(image, 3, 2, 1)",
    "max_pool1d": "F.max_pool1d(x, 2)", "avg_pool1d": "F.avg_pool1d(x, 2)", "max_pool3d": "F.max_pool3d(volume, 2)",
    "avg_pool3d": "F.avg_pool3d(volume, 2)", "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(image, 1)",
    "interpolate nearest": "F.interpolate(image, scale_factor=2)",
    "interpolate bilinear": "F.interpolate(image, scale_factor=2, mode='bilinear')",
}
RANDOM = {
    "randn": "torch.randn(n, n)", "rand": "torch.rand(n, n)", "randint": "torch.randint(10, (n, n))",
    "randperm": "torch.randperm(n * n)", "bernoulli": "torch.bernoulli(p.detach())", "normal_": "w.normal_()",
    "zeros": "torch.zeros(n, n)", "arange": "torch.arange(n * n)",
}
HALVES = {
    f"{kind} {name}": re.sub(r"\bx\b", short, expression)
    for kind, short in (("bfloat16", "wide"), ("float16", "half"))
    for name, expression in {
        "add": "x + x", "multiply": "x * x", "exp": "x.exp()", "relu": "F.relu(x)", "gelu": "F.gelu(x)",
        "softmax": "x.softmax(-1)", "layer_norm": "F.layer_norm(x, (n,))", "sum": "x.sum()", "sum of rows": "x.sum(1)",
        "mean of columns": "x.mean(0)", "max of rows": "x.amax(1)", "matmul": "x @ x", "to float": "x.float()",
    }.items()
}
OPERATORS = {**POINTWISE, **ACTIVATIONS, **REDUCTIONS, **SHAPES, **PRODUCTS, **IMAGES, **RANDOM, **HALVES}
#: What takes too long, or has no place, in the largest size.
NOT_LARGE = {"bmm", "bfloat16 matmul", "float16 matmul", "one_hot"}


def arguments(torch: Any, n: int) -> dict[str, Any]:
    """What expressions may name, the same on both libraries."""
    torch.manual_seed(0)
    image = {8: (1, 1, 8, 8), 256: (4, 16, 32, 32)}.get(n, (32, 32, 64, 64))
    volume = {8: (1, 1, 4, 4, 4), 256: (2, 8, 16, 16, 16)}.get(n, (4, 32, 32, 32, 32))
    named = {name: torch.randn(n, n) for name in "xyz"}
    named |= {"p": torch.rand(n, n) * 0.9 + 0.05, "r": torch.randn(n), "k": torch.randn(n, 1)}
    named |= {"image": torch.randn(image), "volume": torch.randn(volume)}
    named |= {"wide": named["x"].bfloat16(), "half": named["x"].half()}
    for tensor in named.values():
        tensor.requires_grad_()
    named |= {"c": torch.rand(n, n) > 0.5, "i": torch.randint(n, (n, n)), "t": torch.randint(n, (n,)),
        "rows": torch.randint(n, (n,)), "w": torch.zeros(n, n)}
    return {**named, "n": n, "torch": torch, "F": torch.nn.functional}


def cases(torch: Any, expression: str, named: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """The forward alone, and where there is a gradient the forward and the backward."""
    code = compile(f"lambda: {expression}", expression, "eval")
    function = eval(code, named)
    with torch.no_grad():
        function()
    result = function()

    def forward() -> None:
        with torch.no_grad():
            function()

    if not isinstance(result, torch.Tensor) or not result.requires_grad:
        return {"forward": forward}
    inner = next(c for c in code.co_consts if hasattr(c, "co_names")).co_names
    leaves = [named[name] for name in inner if isinstance(named.get(name), torch.Tensor) and named[name].requires_grad]
    seed = torch.ones_like(result.detach())

    def both() -> None:
        torch.autograd.grad(function(), leaves, seed, allow_unused=True)

    return {"forward": forward, "both": both}


def clock(function: Callable[[], Any], budget: float) -> float:
    """Seconds of a call: calls in groups that the clock can resolve, the quickest of the groups."""
    function()
    start = time.thread_time()
    function()
    group = max(1, int(2e-4 / max(time.thread_time() - start, 1e-7)))
    samples: list[float] = []  # of which the least counts: a machine has phases in which everything takes longer
    began = time.perf_counter()
    while len(samples) < 3 or (time.perf_counter() - began < budget and len(samples) < 50):
        start = time.thread_time()
        for _ in range(group):
            function()
        samples.append((time.thread_time() - start) / group)
    return min(samples)


def child(library: str, names: list[str], sizes: list[int]) -> None:
    """Print the times of all cases as one JSON object."""
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    times: dict[str, float] = {}
    for n in sizes:
        named = arguments(torch, n)
        for name in names:
            if n == SIZES[-1] and name in NOT_LARGE:
                continue
            try:
                for way, function in cases(torch, OPERATORS[name], named).items():
                    times[f"{name}|{n}|{way}"] = clock(function, 0.02)
            except Exception as error:  # an operator that one library refuses is shown without a ratio
                print(f"{library}: {name}: {error!r}", file=sys.stderr)
    print(json.dumps(times))


def measure(names: list[str], sizes: list[int], rounds: int, blas: str = BLAS[0]) -> dict[str, dict[str, float]]:
    """Return the best time of each case, by library."""
    best: dict[str, dict[str, float]] = {library: {} for library in LIBRARIES}
    for _ in range(rounds):
        for library in LIBRARIES:
            command = [sys.executable, "-m", "benchmarks.operators", library, json.dumps(names), json.dumps(sizes)]
            done = subprocess.run(command, env=environment(1, blas), stdout=subprocess.PIPE, text=True, check=True)
            for case, seconds in json.loads(done.stdout).items():
                best[library][case] = min(seconds, best[library].get(case, seconds))
    return best


def ratios(best: dict[str, dict[str, float]]) -> dict[str, float]:
    first, second = (best[library] for library in LIBRARIES)
    return {case: seconds / second[case] for case, seconds in first.items() if case in second}


def table(found: dict[str, float], names: list[str], sizes: list[int]) -> str:
    """A row for each operator, a column for each size and way; bold where PyTorch is faster."""
    columns = [(n, way) for n in sizes for way in ("forward", "both")]
    lines = ["| operator | " + " | ".join(f"{n}² {way}" for n, way in columns) + " |", "|---|" + "---|" * len(columns)]
    for name in names:
        values = [found.get(f"{name}|{n}|{way}") for n, way in columns]
        shown = ["" if v is None else f"**{v:.2f}**" if v > 1.05 else f"{v:.2f}" for v in values]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --operators", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="names of operators")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--blas", choices=BLAS, default=BLAS[0],
        help="which instructions the BLAS of both libraries may use")
    parser.add_argument("--above", type=float, help="print only what is above this ratio, the worst first")
    parser.add_argument("--table", help="put the table between the marks of this page")
    args = parser.parse_args(argv)
    names = [name for name in OPERATORS if not args.only or name in args.only]
    best = measure(names, args.sizes, args.rounds, args.blas)
    found = ratios(best)
    page = f"{as_measured(1, args.blas)}; BLAS {args.blas}.\n\n{table(found, names, args.sizes)}"
    if args.above is None:
        print(page)
    else:
        for case, ratio in sorted(found.items(), key=lambda item: -item[1]):
            if ratio > args.above:
                print(f"{ratio:7.2f}  {case:40s} {best[LIBRARIES[0]][case] * 1e6:12.2f} µs, torch "
                    f"{best[LIBRARIES[1]][case] * 1e6:12.2f} µs")
    if args.table:
        path = Path(args.table)
        before, _, rest = path.read_text().partition("<!-- operators -->\n")
        path.write_text(f"{before}<!-- operators -->\n{page}\n<!-- end -->{rest.partition('<!-- end -->')[2]}")


if __name__ == "__main__":
    child(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]))
