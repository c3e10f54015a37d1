"""What a diagnosis costs: ``python -m benchmarks.explained [--rounds 15] [--json FILE] [--gate]``.

Three processes run the same steps: one plain, one under diagnosis, one in which a diagnosis has ended. They take turns
(A B C A B C ...), so that drift of the machine hits all alike; quoted are ratios of the least times. The
steps counted lie after the first detailed window; ``first`` is the mean of the steps in it, ``whole`` the mean of the
first 1,000 steps. ``--gate`` fails when a ratio is above its limit, and stays so when it is measured again. Off, the
limit is 1.02; the gate lets 1.05 pass, because a busy machine's noise is larger than the difference, and a tenth more
than the limit of a diagnosis.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import as_measured
from benchmarks.runner import Runner

#: What a step may cost under diagnosis, in steps without; and when a diagnosis is off, for the gate in its noise.
LIMITS = {"mlp-tiny": 2.0, "gpt-small": 1.3}
OFF, OFF_GATE, SLACK = 1.02, 1.05, 1.1
WAYS = ("plain", "explained", "off")
TRIES = 5
FIRST, WHOLE = 3, 1000


def child(way: str, name: str) -> None:
    """Run as many steps as each line of the input says, and print the seconds that they took."""
    import wengert as torch
    from benchmarks.workloads import WORKLOADS
    from wengert.diagnose import sessions

    torch.set_num_threads(1)
    torch.manual_seed(0)
    if way != "plain":
        sessions.begin()
    step = next(w for w in WORKLOADS if w.name == name).make(torch)
    if way == "off":
        for _ in range(FIRST):
            step()
        sessions.end()
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.process_time()
            step()
            times.append(time.process_time() - start)
        print(json.dumps(times), flush=True)


def runner(way: str, name: str) -> Runner:
    """A process that answers a number of steps by their times."""
    return Runner("benchmarks.explained", "--child", way, name)


def measure(name: str, rounds: int) -> dict[str, float]:
    """The ratios of one workload."""
    runners = {way: runner(way, name) for way in WAYS}
    try:
        first = {way: process.ask(FIRST) for way, process in runners.items()}
        warm = {way: process.ask(20) for way, process in runners.items()}
        plain = statistics.median(warm["plain"])
        count = max(3, min(100, int(0.15 / plain)))
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                times[way].append(statistics.median(runners[way].ask(count)))
        found = {way: min(times[way]) / min(times["plain"]) for way in WAYS[1:]}  # a shared machine has slow phases
        found["first"] = sum(first["explained"][1:]) / (FIRST - 1) / plain
        found["plain"] = statistics.median(times["plain"])
        if plain < 0.01:
            fresh = {way: runner(way, name) for way in WAYS[:2]}
            whole = {way: statistics.fmean(process.ask(WHOLE)) for way, process in fresh.items()}
            found["whole"] = whole["explained"] / whole["plain"]
            for process in fresh.values():
                process.close()
        return found
    finally:
        for process in runners.values():
            process.close()


def too_slow(name: str, found: dict[str, float]) -> bool:
    """Whether a limit is broken."""
    return found["explained"] > LIMITS[name] * SLACK or found["off"] > OFF_GATE


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="write the ratios to this file")
    parser.add_argument("--gate", action="store_true", help="fail when a limit is broken")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(*args.child)
        return 0
    print(f"{as_measured(1, 'unrestricted')}\n\n| workload | step | explained | limit | off | limit | first | whole |\n"
        "|---|---|---|---|---|---|---|---|", flush=True)
    results: dict[str, Any] = {}
    failed = 0
    for name, limit in LIMITS.items():
        tries = [measure(name, args.rounds)]
        while args.gate and too_slow(name, tries[-1]) and len(tries) < TRIES:
            tries.append(measure(name, args.rounds))
        found = results[name] = tries[-1]
        failed |= too_slow(name, found)
        print(f"| {name} | {found['plain'] * 1e3:.3g} ms | {found['explained']:.2f} | {limit} | {found['off']:.3f} | "
            f"{OFF} | {found['first']:.1f} | {found.get('whole', float('nan')):.2f} |", flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))
    return failed if args.gate else 0


if __name__ == "__main__":
    sys.exit(main())
