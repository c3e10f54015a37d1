"""How long is the start? ``python -m benchmarks --first [NAME ...] [--rounds 5]``.

The time from the start of the process to the end of the first step of the optimizer, of the programs in ``examples/``
that PyTorch can run: ``wengert run PROGRAM`` and PyTorch's, in turns (A B A B ...), the least of the rounds. It holds
the import, the first call of every operator, and the data.
"""

from __future__ import annotations

import argparse
import os
import runpy
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.machine import as_measured, environment

EXAMPLES = Path(__file__).parent.parent / "examples"
COMMANDS = {"wengert": ["-m", "wengert", "run"], "torch": []}
GOAL = 0.5
#: What PyTorch cannot run, and what ``torchrun`` starts.
LEFT_OUT = {"gpt_memory", "restart"}


def run_to_first_step(program: str) -> None:
    """Run a program as if by its name, and end the process after the first step of an optimizer."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(lambda *_: os._exit(0))
    sys.argv = [program]
    runpy.run_path(program, run_name="__main__")
    raise SystemExit(f"{program} made no step of an optimizer")


def seconds(library: str, program: Path) -> float:
    """From start to first step."""
    given = environment(1, "unrestricted")
    given["PYTHONPATH"] = os.pathsep.join(filter(None, [str(EXAMPLES.parent), given.get("PYTHONPATH")]))
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # imports are timed as they are after the first one
    began = time.perf_counter()
    subprocess.run([sys.executable, *COMMANDS[library], __file__, str(program)], env=given, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=EXAMPLES.parent)
    return time.perf_counter() - began


def main(given: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --first", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of examples; all without")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(given)
    programs = sorted(p for p in EXAMPLES.glob("*.py") if p.stem in (args.names or {p.stem}) and p.stem not in LEFT_OUT
        and "\nimport torch\n" in p.read_text(encoding="utf-8"))
    print(f"{as_measured(1, 'unrestricted')}\n\n"
        "| first step of | wengert | PyTorch | ratio | goal |\n|---|---|---|---|---|")
    worst = 0.0
    for program in programs:
        ours, theirs = (min(times) for times in zip(*([seconds(library, program) for library in COMMANDS]
            for _ in range(args.rounds)), strict=True))
        worst = max(worst, ours / theirs)
        print(f"| {program.name} | {ours:.2f} s | {theirs:.2f} s | {ours / theirs:.2f} | {GOAL:.2f} |", flush=True)
    return int(worst > GOAL)


if __name__ == "__main__":
    run_to_first_step(sys.argv[1])
