"""Programs of libraries on both: ``python -m benchmarks.libraries [PROGRAM ...] [--python PYTHON] [--rounds 3]``.

Each program of ``tests/parity/libraries`` runs unmodified in fresh processes, on PyTorch and on wengert by turns, on
one thread. Quoted is processor time with that of child processes, the least of the rounds: the program's imports, what
follows them (``first``, with what is loaded at first use), and the same once more in that process (``again``).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "parity" / "libraries"
PARTS = ("imports", "first", "again")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def processor_time() -> float:
    """Seconds that this process and its ended children have computed."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def child(path: Path) -> dict[str, float]:
    """Run a program's imports, then the program twice; the seconds of each, and of the wall for the last."""
    source = ast.parse(path.read_text())
    imports = [node for node in source.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    parts = [ast.Module(imports, []), source, source]
    seconds = {}
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        for name, part in zip(PARTS, parts, strict=True):
            code = compile(part, str(path), "exec")
            wall, used = time.perf_counter(), processor_time()
            module = sys.modules["__main__"] = types.ModuleType("__main__")  # what is pickled is looked up there
            module.__file__ = str(path)
            exec(code, vars(module))
            seconds[name], seconds["wall"] = processor_time() - used, time.perf_counter() - wall
    return seconds


def run(python: str, library: str, path: Path) -> dict[str, float]:
    """One process; the figures that it prints."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | ONE_THREAD
    begin = [python, "-P", "-W", "ignore"] + (["-m", "wengert", "run"] if library == "wengert" else [])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*begin, __file__, "--child", str(path)], cwd=folder, env=settings,
            capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{path.name} on {library}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(python: str, path: Path, rounds: int) -> dict[str, dict[str, float]]:
    """The least of each figure, for both libraries."""
    found: dict[str, list[dict[str, float]]] = {"torch": [], "wengert": []}
    for _ in range(rounds):
        for library, runs in found.items():
            runs.append(run(python, library, path))
    return {library: {name: min(r[name] for r in runs) for name in runs[0]} for library, runs in found.items()}


def row(name: str, found: dict[str, dict[str, float]]) -> str:
    """A line of the table: both times and the ratio, of each part and of the wall."""
    cells = []
    for part in (*PARTS, "wall"):
        theirs, ours = found["torch"][part], found["wengert"][part]
        cells += [f"{theirs:.2f}", f"{ours:.2f}", f"{ours / max(theirs, 0.01):.2f}"]
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="names of programs; all where none is given")
    parser.add_argument("--python", default=sys.executable, help="the Python that has the libraries and torch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write every figure to this file")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(child(args.child)))
        return
    titles = " | ".join(f"{part}: PyTorch | wengert | ratio" for part in (*PARTS, "wall again"))
    print(f"| program | {titles} |\n|---|{'---|' * 12}", flush=True)
    results: dict[str, Any] = {}
    for path in sorted(PROGRAMS.glob("*.py")):
        if args.programs and path.stem not in args.programs:
            continue
        try:
            results[path.stem] = measure(args.python, path, args.rounds)
        except RuntimeError as error:
            print(error, file=sys.stderr, flush=True)
            continue
        print(row(path.stem, results[path.stem]), flush=True)
    for part in PARTS:
        ratios = [found["wengert"][part] / max(found["torch"][part], 0.01) for found in results.values()]
        print(f"median of {part}: {statistics.median(ratios):.2f}")
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
