"""How convolutions are computed, against all other ways: ``python -m benchmarks.ways [NAME ...]``.

The native kernels choose by a model of what each way costs (``native/conv.h``). Here each layer of
``benchmarks.convolutions`` is computed in every way that there is for it, in turns: its results, the gradient in the
images and the gradient in the filters. Printed are the way that is chosen, by how much longer it takes than the fastest
way, and the times of all, in milliseconds of the processor; last, for how many the choice was right. Ways within
``SAME`` of the fastest count as right. Set ``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.convolutions import LAYERS
from wengert.arrays import _kernels as native  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS = ("product", "depthwise", "winograd", "broad", "columns", "folded", "in place", "packed", "dots", "tiles")
SAME = 1.05


def calls(name: str) -> dict[str, Callable[[], Any]]:
    """A layer's results and gradients, as calls of the kernels."""
    images, channels, size, filters, kernel, stride, padding, groups, *transposed = LAYERS[name]
    each = lambda n: n if isinstance(n, tuple) else (n,) * len(size)  # noqa: E731
    stride, padding = each(stride), each(padding)
    if transposed:  # what a transposed convolution gives is the gradient of this one in its images
        size = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(size, stride, padding, kernel, strict=True))
        channels, filters = filters, channels
    counts = tuple((n + 2 * p - k) // s + 1 for n, s, p, k in zip(size, stride, padding, kernel, strict=True))
    random = np.random.default_rng(0)
    x, w, g = (random.standard_normal(shape, np.float32) for shape in ((images, channels, *size),
        (filters, channels // groups, *kernel), (images, filters, *counts)))
    how = stride, padding, (1,) * len(size), groups
    return {
        "results": lambda: native.conv(x, w, None, *how),
        "images": lambda: native.conv_input(g, w, x.shape, *how),
        "filters": lambda: native.conv_weight(x, g, w.shape, *how),
    }


def ways(call: Callable[[], Any]) -> tuple[str, list[str]]:
    """The way that is chosen, and all that there are."""
    native.conv_only(None)
    call()
    chosen, found = native.conv_chosen()[0], []
    for way in WAYS:
        native.conv_only(way)
        call()
        if native.conv_chosen()[0] == way:
            found.append(way)
    return chosen, found if chosen in found else [*found, chosen]


def measured(call: Callable[[], Any], names: list[str], rounds: int) -> dict[str, float]:
    """The least milliseconds of each way."""
    least = dict.fromkeys(names, float("inf"))
    for _ in range(rounds):
        for way in names:
            native.conv_only(way)
            begin, times = time.process_time(), 0
            while times == 0 or time.process_time() - begin < 0.01:
                call()
                times += 1
            least[way] = min(least[way], 1000 * (time.process_time() - begin) / times)
    native.conv_only(None)
    return least


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of layers, or of networks; default: single layers")
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args()
    losses = []
    print("| layer | of | way | over the fastest | all ways, ms |\n|---|---|---|---|---|")
    for name in LAYERS:
        if not any(part in name for part in args.names) if args.names else ":" in name:
            continue
        for what, call in calls(name).items():
            chosen, names = ways(call)
            if len(names) == 1:
                continue
            times = measured(call, names, args.rounds)
            losses.append(times[chosen] / min(times.values()))
            print(f"| {name} | {what} | {chosen} | {losses[-1]:.2f} | "
                f"{', '.join(f'{way} {t:.3f}' for way, t in times.items())} |", flush=True)
    if losses:
        right = sum(loss <= SAME for loss in losses)
        print(f"\n{right} of {len(losses)} choices are within {SAME - 1:.0%} of the fastest way; the worst takes "
            f"{max(losses):.2f} of its time, the mean is {sum(losses) / len(losses):.3f}.")


if __name__ == "__main__":
    main()
