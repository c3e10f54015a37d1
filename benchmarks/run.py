"""Measure both libraries in interleaved child processes and print a Markdown table.

usage: python -m benchmarks [--models] [--only NAME ...] [--libraries wengert torch jax] [--rounds 3] [--seconds 2]
                            [--threads 2] [--blas unrestricted|avx2] [--json FILE] [--plot FILE.svg]

Each round runs every library once (A B A B ...), each in a fresh process, so that drift of the machine hits all alike;
quoted are medians over rounds. Ratios are first library / second library: below 1 is a win. Losses of the first steps
are compared, so that a fast wrong answer shows. Where JAX is installed it is a third column, for orientation.
``--blas avx2`` holds the BLAS of both libraries to AVX2, on processors that have more; without it nothing is held.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import BLAS, as_measured, environment
from benchmarks.models import MODELS
from benchmarks.workloads import WORKLOADS, Workload

IMPORT = Workload("import", "import", 0.15, lambda torch: lambda: None)


def run_child(library: str, workload: str, threads: int, seconds: float, blas: str = BLAS[0]) -> dict[str, Any]:
    """Run one measurement; a failure is returned under ``error``, and shown in the table."""
    given = {**environment(threads, blas), "PYTHONHASHSEED": "0"}
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # imports are timed as they are after the first one
    command = [sys.executable, "-m", "benchmarks.child", library, workload, str(threads), str(seconds)]
    try:
        done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return {"error": "took more than 600 s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def combine(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the medians of one library's rounds."""
    failed = [r for r in runs if "error" in r]
    if failed:
        return failed[0]
    return {
        "seconds": statistics.median(r["seconds"] for r in runs),
        "peak": statistics.median(r["peak"] for r in runs),
        "losses": runs[0]["losses"],
        "rounds": [r["seconds"] for r in runs],
    }


def measure(workload: Workload, libraries: list[str], args: argparse.Namespace) -> dict[str, Any]:
    """Measure one workload on all libraries, interleaved."""
    runs: dict[str, list[dict[str, Any]]] = {library: [] for library in libraries}
    for _ in range(args.rounds):
        for library in libraries:
            runs[library].append(run_child(library, workload.name, args.threads, args.seconds, args.blas))
    return {library: combine(r) for library, r in runs.items()}


def loss_difference(a: list[float], b: list[float]) -> float | None:
    """Largest relative difference of the first losses."""
    if not a or not b:
        return None
    return max(abs(x - y) / max(abs(x), abs(y), 1e-30) for x, y in zip(a, b, strict=False))


def show_time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def ratio_of(result: dict[str, Any], libraries: list[str], field: str = "seconds") -> float | None:
    """The first library's figure over the second's."""
    ours, theirs = (result[library].get(field) for library in libraries[:2])
    return ours / theirs if ours and theirs else None


def table_row(workload: Workload, result: dict[str, Any], libraries: list[str]) -> str:
    """Format one line of the table."""
    errors = [f"{library}: {result[library]['error']}" for library in libraries[:2] if "error" in result[library]]
    ratio = ratio_of(result, libraries)
    if ratio is None:
        return f"| {workload.title} | {'; '.join(errors)} |"
    ours, theirs = result[libraries[0]], result[libraries[1]]
    difference = loss_difference(ours["losses"], theirs["losses"])
    cells = [
        workload.title,
        *(show_time(result[library]["seconds"]) if "seconds" in result[library] else "" for library in libraries),
        f"{ratio:.2f}",
        f"{workload.limit:.2f}" + ("" if ratio <= workload.limit else " ✗"),
        f"{ours['losses'][-1]:.6g} ({difference:.0e})" if difference is not None else "",
        f"{ours['peak'] / 1e6:.0f} / {theirs['peak'] / 1e6:.0f} = {ours['peak'] / theirs['peak']:.2f}" if theirs["peak"]
        else "",
    ]
    return "| " + " | ".join(cells) + " |"


def draw(results: dict[str, Any], workloads: list[Workload], libraries: list[str], path: str) -> None:
    """Draw the ratios of times, with the goals, and of peak memory as bars (needs matplotlib)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [w for w in workloads if ratio_of(results[w.name], libraries) is not None][::-1]
    figure, panels = plt.subplots(1, 2, figsize=(11, 0.32 * len(shown) + 1.3), sharey=True, width_ratios=(3, 2))
    for axes, field, title in zip(panels, ("seconds", "peak"), ("time", "peak memory"), strict=True):
        ratios = [ratio_of(results[w.name], libraries, field) or 0.0 for w in shown]
        colours = ["#2a9d8f" if r <= 1 else "#e76f51" for r in ratios]
        axes.barh([w.title for w in shown], ratios, color=colours)
        axes.axvline(1.0, color="black", linewidth=1)
        axes.set_xlim(0, max(1.1, *ratios))
        axes.set_xlabel(f"{title}: {libraries[0]} / {libraries[1]}")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].plot([w.limit for w in shown], range(len(shown)), "k|", markersize=10)
    panels[0].set_xlabel(panels[0].get_xlabel() + "  (| the goal)")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ", ".join(w.name for w in WORKLOADS)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="names of workloads: " + names)
    parser.add_argument("--models", action="store_true", help="whole models of many kinds instead: benchmarks/models")
    parser.add_argument("--libraries", nargs="+", default=["wengert", "torch"],
        help="two with PyTorch's interface, and jax")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="time for one measurement")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--blas", choices=BLAS, default=BLAS[0],
        help="which instructions the BLAS of both libraries may use")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--plot", help="draw the ratios to this file (.svg or .png)")
    args = parser.parse_args()

    workloads = [w for w in (MODELS if args.models else [*WORKLOADS, IMPORT])
        if not args.only or w.name in args.only]
    libraries = args.libraries
    if "jax" in libraries and not importlib.util.find_spec("jax"):
        parser.error("jax is not installed here: pip install jax")
    machine = as_measured(args.threads, args.blas)
    print(f"{machine}\n\n{args.threads} threads, BLAS {args.blas}, {args.rounds} rounds of {args.seconds:g} s\n")
    header = ["workload", *libraries, "ratio", "goal", "fifth loss (difference)", "peak MB"]
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header), flush=True)
    results: dict[str, Any] = {}
    ratios: dict[str, float] = {}
    for workload in workloads:
        results[workload.name] = measure(workload, libraries, args)
        print(table_row(workload, results[workload.name], libraries), flush=True)
        if (ratio := ratio_of(results[workload.name], libraries)) is not None:
            ratios[workload.name] = ratio
    if args.json:
        Path(args.json).write_text(
            json.dumps({"machine": machine, "blas": args.blas, "results": results, "ratios": ratios}, indent=1))
    if args.plot:
        draw(results, workloads, libraries, args.plot)


if __name__ == "__main__":
    main()
