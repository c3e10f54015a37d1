"""Layers of common networks against PyTorch: ``python -m benchmarks.convolutions [NAME ...] [--threads N]``.

Both libraries in processes that take short turns, many of them, as a shared machine has phases of a second in which it
is slower; for each layer the least time of its results, of the gradient in the images and of that in the filters, as
ratios to PyTorch's, and in GFlop/s. On one thread processor time is measured. For layers
of 64 channels and filters and more, how much that is of the machine's rate: that of the fastest product of two matrices
of 1024² numbers, by this library's kernel, NumPy's BLAS or PyTorch's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from benchmarks.machine import as_measured, environment

#: Images, channels, size, filters, kernel, stride, padding, groups; and whether transposed.
LAYERS: dict[str, tuple[Any, ...]] = {
    "7x7/2 3-64, 224": (2, 3, (224, 224), 64, (7, 7), 2, 3, 1),
    "3x3 64, 56": (4, 64, (56, 56), 64, (3, 3), 1, 1, 1),
    "3x3/2 64-128, 56": (4, 64, (56, 56), 128, (3, 3), 2, 1, 1),
    "3x3 128, 28": (4, 128, (28, 28), 128, (3, 3), 1, 1, 1),
    "3x3 256, 14": (4, 256, (14, 14), 256, (3, 3), 1, 1, 1),
    "3x3/2 256-512, 14": (4, 256, (14, 14), 512, (3, 3), 2, 1, 1),
    "3x3 512, 7": (4, 512, (7, 7), 512, (3, 3), 1, 1, 1),
    "1x1/2 64-128, 56": (4, 64, (56, 56), 128, (1, 1), 2, 0, 1),
    "1x1 256-64, 56": (4, 256, (56, 56), 64, (1, 1), 1, 0, 1),
    "1x1 64-256, 56": (4, 64, (56, 56), 256, (1, 1), 1, 0, 1),
    "1x1 1024-256, 14": (4, 1024, (14, 14), 256, (1, 1), 1, 0, 1),
    "1x1 512-2048, 7": (4, 512, (7, 7), 2048, (1, 1), 1, 0, 1),
    "3x3 256, 4": (32, 256, (4, 4), 256, (3, 3), 1, 1, 1),
    "3x3 512, 2": (32, 512, (2, 2), 512, (3, 3), 1, 1, 1),
    "3x3 512, 1": (32, 512, (1, 1), 512, (3, 3), 1, 1, 1),
    "3x3 3-64, 32": (32, 3, (32, 32), 64, (3, 3), 1, 1, 1),
    "3x3 16, 32": (32, 16, (32, 32), 16, (3, 3), 1, 1, 1),
    "3x3 32, 16": (32, 32, (16, 16), 32, (3, 3), 1, 1, 1),
    "3x3 64, 8": (32, 64, (8, 8), 64, (3, 3), 1, 1, 1),
    "3x3 48, 9": (32, 48, (9, 9), 48, (3, 3), 1, 1, 1),
    "3x3 1-32, 28": (64, 1, (28, 28), 32, (3, 3), 1, 0, 1),
    "3x3 32-64, 26": (64, 32, (26, 26), 64, (3, 3), 1, 0, 1),
    "depthwise 3x3 32, 112": (2, 32, (112, 112), 32, (3, 3), 1, 1, 32),
    "depthwise 3x3/2 128, 56": (2, 128, (56, 56), 128, (3, 3), 2, 1, 128),
    "depthwise 3x3 512, 14": (4, 512, (14, 14), 512, (3, 3), 1, 1, 512),
    "depthwise 5x5 240, 28": (4, 240, (28, 28), 240, (5, 5), 1, 2, 240),
    "32 groups 3x3 128, 28": (4, 128, (28, 28), 128, (3, 3), 1, 1, 32),
    "3x3 16, 128": (2, 16, (128, 128), 16, (3, 3), 1, 1, 1),
    "3x3 64-32, 64": (2, 64, (64, 64), 32, (3, 3), 1, 1, 1),
    "3x3x3 16-32, 8x32x32": (2, 16, (8, 32, 32), 32, (3, 3, 3), 1, 1, 1),
    "3x3x3 3-16, 8x64x64": (2, 3, (8, 64, 64), 16, (3, 3, 3), 1, 1, 1),
    "5 64, 1024": (8, 64, (1024,), 64, (5,), 1, 2, 1),
    "transposed 4x4/2 128-64, 7": (32, 128, (7, 7), 64, (4, 4), 2, 1, 1, True),
    "transposed 4x4/2 64-1, 14": (32, 64, (14, 14), 1, (4, 4), 2, 1, 1, True),
    "transposed 2x2/2 64-32, 32": (4, 64, (32, 32), 32, (2, 2), 2, 0, 1, True),
}
#: Every layer of five networks, each once: kernel, stride, filters before and after, size of the image. "d" is
#: depthwise, "t" transposed. Four images, two of the U-shaped network and one film.
NETWORKS = {
    "residual, 18 layers": "7/2 3-64 224, 3 64-64 56, 3/2 64-128 56, 1/2 64-128 56, 3 128-128 28, 3/2 128-256 28, "
        "1/2 128-256 28, 3 256-256 14, 3/2 256-512 14, 1/2 256-512 14, 3 512-512 7",
    "residual, 50 layers": "1 64-64 56, 1 64-256 56, 1 256-64 56, 1 256-128 56, 3/2 128-128 56, 1 128-512 28, "
        "1/2 256-512 56, 1 512-128 28, 1 512-256 28, 3/2 256-256 28, 1 256-1024 14, 1/2 512-1024 28, 1 1024-256 14, "
        "1 1024-512 14, 3/2 512-512 14, 1 512-2048 7, 1/2 1024-2048 14, 1 2048-512 7",
    "mobile": "3/2 3-32 224, d3 32-32 112, 1 32-64 112, d3/2 64-64 112, 1 64-128 56, d3 128-128 56, 1 128-128 56, "
        "d3/2 128-128 56, 1 128-256 28, d3 256-256 28, 1 256-256 28, d3/2 256-256 28, 1 256-512 14, d3 512-512 14, "
        "1 512-512 14, d3/2 512-512 14, 1 512-1024 7, d3 1024-1024 7, 1 1024-1024 7",
    "U-shaped": "3 3-32 128, 3 32-32 128, 3 32-64 64, 3 64-64 64, 3 64-128 32, 3 128-128 32, 3 128-256 16, "
        "3 256-256 16, t2/2 256-128 16, 3 256-128 32, t2/2 128-64 32, 3 128-64 64, t2/2 64-32 64, 3 64-32 128, "
        "1 32-2 128",
    "video": "3x7x7/1x2x2 3-64 8x56x56, 3 64-64 8x28x28, 3/2 64-128 8x28x28, 1/2 64-128 8x28x28, 3 128-128 4x14x14, "
        "3/2 128-256 4x14x14, 1/2 128-256 4x14x14, 3 256-256 2x7x7, 3/2 256-512 2x7x7, 1/2 256-512 2x7x7, "
        "3 512-512 1x4x4",
}
#: How long a turn computes each of results and gradients, and how many turns a library has.
SECONDS, TURNS = 0.03, 10
#: The side of the matrices whose product is the machine's rate, and from how many channels layers are held to it.
SIDE, MANY = 1024, 64


def layers(network: str) -> dict[str, tuple[Any, ...]]:
    """The layers of a network, as in LAYERS."""
    found: dict[str, tuple[Any, ...]] = {}
    axes = 3 if network == "video" else 2
    images = {"video": 1, "U-shaped": 2}.get(network, 4)
    for text in NETWORKS[network].split(", "):
        what, filters, size = text.split()
        kernel, _, stride = what.lstrip("dt").partition("/")
        before, after = (int(n) for n in filters.split("-"))

        def each(text: str) -> tuple[int, ...]:
            return tuple(int(n) for n in text.split("x")) if "x" in text else (int(text or 1),) * axes

        padding = tuple(n // 2 if what[0] != "t" else 0 for n in each(kernel))
        found[f"{network}: {text}"] = (images, before, each(size), after, each(kernel), each(stride), padding,
            before if what[0] == "d" else 1, *([True] if what[0] == "t" else []))
    return found


for _network in NETWORKS:
    LAYERS |= layers(_network)


def child(library: str, threads: int) -> None:
    """Measure the layers that the lines of the input name."""
    if library == "torch":
        import torch
    else:
        import wengert as torch  # type: ignore[no-redef]

    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter

    def least(f: Any) -> float:
        f()
        until, found = time.perf_counter() + SECONDS, float("inf")
        while time.perf_counter() < until:
            start = clock()
            f()
            found = min(found, clock() - start)
        return found

    last, products, calls = "", 0, list[Any]()
    for line in sys.stdin:
        if line == "rates\n":
            print(json.dumps(rates(library, torch, least)), flush=True)
            continue
        if line != last:
            last, (products, calls) = line, computations(torch, *LAYERS[line.strip()])
        print(json.dumps([products, *map(least, calls)]), flush=True)


def computations(torch: Any, images: int, channels: int, size: tuple[int, ...], filters: int, kernel: tuple[int, ...],
        stride: Any, padding: Any, groups: int, transposed: bool = False) -> tuple[int, list[Any]]:
    """How many operations a layer's results take, and calls for its results, the gradients in images and filters."""
    torch.manual_seed(0)
    conv = getattr(torch.nn.functional, f"conv{'_transpose' if transposed else ''}{len(size)}d")
    shape = (channels, filters // groups) if transposed else (filters, channels // groups)
    x, w = torch.randn(images, channels, *size), torch.randn(*shape, *kernel)
    how = dict(stride=stride, padding=padding, groups=groups)
    calls = [lambda: conv(x, w, None, **how)]
    for leaf in (0, 1):
        given = [x.detach(), w.detach()]
        given[leaf].requires_grad_()
        y = conv(*given, None, **how)
        g = torch.randn_like(y)
        calls.append(lambda y=y, leaf=given[leaf], g=g: torch.autograd.grad(y, leaf, g, retain_graph=True))
    return 2 * (x.numel() if transposed else y.numel()) * w.numel() // shape[0], calls


def rates(library: str, torch: Any, least: Any) -> dict[str, float]:
    """Of products of matrices, in GFlop/s, by what computes them."""
    a, b = torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE)
    ways = {"PyTorch's BLAS": lambda: a @ b}
    if library == "wengert":
        from wengert.arrays import kernels

        x, y = a.numpy(), b.numpy()
        ways = {"NumPy's BLAS": lambda: x @ y}
        if kernels.available:
            from wengert.arrays import _kernels

            ways["the native kernel"] = lambda: _kernels.tiled_product(x, y)
    return {name: 2 * SIDE**3 / least(way) / 1e9 for name, way in ways.items()}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of layers, or of networks; default: single layers")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=TURNS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args.threads)
        return
    print(as_measured(args.threads, "unrestricted"))
    command = [sys.executable, "-m", "benchmarks.convolutions", "--threads", str(args.threads), "--child"]
    processes = {library: subprocess.Popen([*command, library], env=environment(args.threads, "unrestricted"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for library in ("wengert", "torch")}

    def ask(library: str, name: str) -> Any:
        process = processes[library]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    products = dict[str, float]()
    for library in args.rounds * list(processes):
        for way, rate in ask(library, "rates").items():
            products[way] = max(rate, products.get(way, 0))
    machine = max(products.values())
    print(f"\nProducts of {SIDE}² matrices, GFlop/s: {', '.join(f'{way} {rate:.0f}' for way, rate in products.items())}"
        "\n\n| layer | results | images | filters | all | GFlop/s | PyTorch | of products, % |\n"
        f"{'|---' * 8}|", flush=True)
    for name in LAYERS:
        if not any(part in name for part in args.names) if args.names else ":" in name:
            continue
        rounds = [{library: ask(library, name) for library in processes} for _ in range(args.rounds)]
        ours, theirs = ([min(times) for times in zip(*(r[library] for r in rounds), strict=True)]
            for library in processes)
        ratios = [a / b for a, b in zip(ours[1:], theirs[1:], strict=True)]
        mine, other = ([times[0] / t / 1e9 for t in times[1:]] for times in (ours, theirs))
        _, channels, _, filters, *_, groups = LAYERS[name][:8]
        shares = [f"{100 * rate / machine:.0f}" for rate in mine] if min(channels, filters) >= MANY * groups else []
        print(f"| {name} | {' | '.join(f'{r:.2f}' for r in ratios)} | {sum(ours[1:]) / sum(theirs[1:]):.2f} | "
            f"{', '.join(f'{r:.0f}' for r in mine)} | {', '.join(f'{r:.0f}' for r in other)} | {', '.join(shares)} |",
            flush=True)
    for process in processes.values():
        process.communicate()


if __name__ == "__main__":
    main()
