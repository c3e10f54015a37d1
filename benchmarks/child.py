"""One measurement in a process of its own: ``python -m benchmarks.child LIBRARY WORKLOAD THREADS SECONDS``.

Prints one JSON object: the median time of a step, how many steps there were, the first losses, and the peak memory
beyond what importing took. On one thread processor time is measured, which other programs stretch less.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.workloads import Step


def resident(field: str) -> int:
    """Bytes of this process: ``VmRSS`` now, ``VmHWM`` at its peak; 0 where the system does not say."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def forget_peak() -> None:
    """Let the peak start again from what is resident now (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def torch_maker(library: str, make: Callable[[Any], Step], threads: int) -> Callable[[], Step]:
    """Import a library with PyTorch's interface, with what it loads at first use, and seed it."""
    torch = importlib.import_module(library)
    torch.nn.Linear(1, 1), torch.optim.SGD
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    return lambda: make(torch)


def jax_maker(name: str, threads: int) -> Callable[[], Step]:
    """JAX takes as many threads as there are cores to it, so it gets only so many."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    wengert = importlib.import_module("wengert")
    wengert.manual_seed(0)
    return importlib.import_module("benchmarks.in_jax").WORKLOADS[name]


def measure(library: str, name: str, threads: int, seconds: float) -> dict[str, Any]:
    """Run a workload for about ``seconds``, after a warm-up that is not counted."""
    from benchmarks.models import MODELS
    from benchmarks.workloads import WORKLOADS

    workload = next(w for w in [*WORKLOADS, *MODELS] if w.name == name)
    make = jax_maker(name, threads) if library == "jax" else torch_maker(library, workload.make, threads)
    forget_peak()
    base = resident("VmRSS")
    step, clock = make(), time.process_time if threads == 1 else time.perf_counter
    losses, times = [step()], [0.0]  # the first step warms up (and compiles, in JAX)
    began = time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - began < seconds and len(times) < 20_000):
        start = clock()
        result = step()
        elapsed = clock() - start
        times.append(result if workload.measures == "returned" and result is not None else elapsed / workload.per)
        losses.append(result)
    peak = resident("VmHWM") - base
    counted = times[1 + len(times) // 10 :]
    return {
        "seconds": statistics.median(counted),
        "steps": len(times),
        "losses": losses[:5] if workload.measures == "step" and losses[0] is not None else [],
        "peak": peak,
    }


def import_time(library: str) -> dict[str, Any]:
    """Time the import of a library in this fresh process."""
    start = time.perf_counter()
    importlib.import_module(library)
    return {"seconds": time.perf_counter() - start, "steps": 1, "losses": [], "peak": 0}


if __name__ == "__main__":
    library, name, threads, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    if name == "import":
        answer = import_time(library)
    else:
        answer = measure(library, name, threads, seconds)
    print(json.dumps(answer))
