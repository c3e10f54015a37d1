"""Has anything become slower than PyTorch by more than before? ``python -m benchmarks --gate [--record] [NAME ...]``.

All workloads and models, in training and inference, on one thread and in processor time. One process of each library
stays, and for each workload the two take turns (A B A B ...); the ratio is that of their least medians. It fails when
a ratio is more than ``SLACK`` times the recorded one, and stays so when fresh processes measure it again. Ratios
travel between runs, times do not; between processors and instruction sets they travel less well, so ``ratios.json`` has
those of several machines, and one that it does not name gets ``ELSEWHERE`` times the highest of each. ``--record``
writes this machine's: the second highest of ``--runs`` runs, as a shared machine has phases in which one library, or
both, take up to 1.7 times as long, and processes that did much before differ; with names, of these workloads alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import as_measured
from benchmarks.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.workloads import Step, Workload

RECORDED = Path(__file__).with_name("ratios.json")
LIBRARIES = ("wengert", "torch")
SLACK = 1.15
ELSEWHERE = 1.6
TRIES = 5  # of a ratio that looks worse than recorded
TURNS = 4
SECONDS = 0.05  # of a turn, and at least three steps


def all_workloads() -> dict[str, Workload]:
    """By name."""
    from benchmarks.models import MODELS
    from benchmarks.workloads import WORKLOADS

    return {w.name: w for w in [*WORKLOADS, *MODELS]}


def child(library: str) -> None:
    """Answer ``make NAME`` by the time of the first step, ``run`` by the median time of a step."""
    from benchmarks.child import torch_maker

    warnings.simplefilter("ignore")
    workloads = all_workloads()
    step: Step | None = None
    workload: Workload | None = None
    for line in sys.stdin:
        order, _, name = line.strip().partition(" ")
        if order == "make":
            step = None
            workload = workloads[name]
            step = torch_maker(library, workload.make, 1)()
            answer = turn(step, workload, 0.0)
        else:
            assert step is not None
            assert workload is not None
            answer = turn(step, workload, SECONDS)
        print(json.dumps(answer), flush=True)


def turn(step: Step, workload: Workload, seconds: float) -> float:
    """The median of the processor time of the steps that fit."""
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - began < seconds:
        start = time.process_time()
        result = step()
        elapsed = time.process_time() - start
        times.append(result if workload.measures == "returned" and result is not None else elapsed / workload.per)
    return statistics.median(times)


def ratio_of(runners: list[Runner], name: str) -> float:
    """Ours over theirs, in turns."""
    for runner in runners:
        runner.ask(f"make {name}")
    turns = [[runner.ask("run") for runner in runners] for _ in range(TURNS)]
    ours, theirs = (min(times) for times in zip(*turns, strict=True))
    return ours / theirs


def measure(names: Iterable[str]) -> dict[str, float]:
    """The ratios of some workloads, of one pair of processes."""
    runners = [Runner(__name__, "--child", library) for library in LIBRARIES]
    try:
        return {name: ratio_of(runners, name) for name in names}
    finally:
        for runner in runners:
            runner.close()


def slower(recorded: dict[str, float], names: list[str], slack: float) -> dict[str, list[float]]:
    """The workloads whose ratio stays above the slack, with all ratios that were found."""
    found: dict[str, list[float]] = {name: [] for name in names}
    left = names
    for _ in range(TRIES):
        for name, ratio in measure(left).items():
            found[name].append(ratio)
        left = [name for name in left if min(found[name]) > recorded[name] * slack]
        if not left:
            break
    return {name: found[name] for name in left}


def here() -> str:
    """What this machine's ratios are written under."""
    return as_measured(1, "unrestricted", only_identity=True)


def record(runs: int, names: Iterable[str] = ()) -> None:
    """Write the ratios of this machine, of some workloads or of all, beside those of others."""
    found = [measure(names or all_workloads()) for _ in range(runs)]
    ratios = {name: round(sorted(f[name] for f in found)[-2 if runs > 1 else -1], 3) for name in found[0]}
    written = json.loads(RECORDED.read_text())
    kept = written[here()]["ratios"] if names else {}
    written[here()] = {"measured": as_measured(1, "unrestricted"), "ratios": kept | ratios}
    RECORDED.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")


def recorded_as(written: dict[str, Any], machine: str) -> str | None:
    """The name of a machine's record: its own, or the beginning of it (without the processor's model, say)."""
    names = (name for name in written if f"{machine} ".startswith((f"{name} ", f"{name},")))
    return max(names, key=len, default=None)


def allowed(written: dict[str, Any], machine: str) -> tuple[dict[str, float], float]:
    """The recorded ratios that a machine is held to, and how many times each it may have."""
    name = recorded_as(written, machine)
    if name is not None:
        return written[name]["ratios"], SLACK
    tables = [record["ratios"] for record in written.values()]
    return {name: max(t[name] for t in tables if name in t) for t in tables for name in t}, ELSEWHERE


def gate(written: dict[str, Any], names: list[str]) -> int:
    """Say what has become slower; 1 if anything has."""
    machine = here()
    recorded, slack = allowed(written, machine)
    known = [name for name in names if name in recorded]
    others = "" if recorded_as(written, machine) else f" (the highest of {'; '.join(written)}; this is {machine})"
    print(f"{len(known)} workloads; a ratio may be {slack:g} times the recorded one{others}", flush=True)
    failed = slower(recorded, known, slack)
    for name, ratios in failed.items():
        print(f"slower: {name}: ratio {', '.join(f'{r:.2f}' for r in ratios)}, recorded {recorded[name]:.2f}")
    missing = [name for name in names if name not in recorded]
    if missing:
        print(f"not recorded: {', '.join(missing)} (python -m benchmarks --gate --record)")
    return int(bool(failed or missing))


def main(given: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --gate", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads; all without")
    parser.add_argument("--record", action="store_true", help="write the ratios of this machine")
    parser.add_argument("--runs", type=int, default=5, help="of which the second highest ratios are recorded")
    parser.add_argument("--child", choices=LIBRARIES, help=argparse.SUPPRESS)
    args = parser.parse_args(given)
    if args.child:
        child(args.child)
        return 0
    if args.record:
        record(args.runs, args.names)
        return 0
    return gate(json.loads(RECORDED.read_text()), args.names or list(all_workloads()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
