"""What is to be run on a machine with a GPU: the checks, the operator table, trainings beside the CPU's, and times.

usage: python -m tests.cuda.on_device [--fake] [--quick] [--seconds 460] [--out FOLDER]

``--fake``: on strict arrays, where there is no GPU; ``--quick``: a part of the table, few steps. Each part is a process
of its own with a share of the time, and says what it came to as it ends; ``report.json`` in FOLDER has everything. The
last line counts what failed; the exit status is 1 if something did.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PARTS = 8  # processes that share the operator table


# -- parts that run in processes of their own: each prints one line of JSON --------------------------------------------


def machine(quick: bool) -> dict[str, Any]:
    """What it runs on."""
    import numpy as np

    import wengert as torch

    found = torch.cuda.get_device_properties(0)
    return {"device": found.name, "memory": found.total_memory, "processors": found.multi_processor_count,
        "capability": torch.cuda.get_device_capability(), "numpy": np.__version__,
        "cupy": getattr(sys.modules.get("cupy"), "__version__", None), "python": sys.version.split()[0]}


def _models(torch: Any) -> dict[str, Any]:
    """By name: a model, and its data."""
    nn = torch.nn
    g = torch.Generator().manual_seed(0)
    words = torch.randint(64, (8, 33), generator=g)

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(64, 64), nn.Embedding(32, 64)
            layer = nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True, activation="gelu")
            self.layers, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(64, 64)

        def forward(self, x: Any) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
            h = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
            return self.head(self.layers(h, mask=mask)).flatten(0, 1)

    class Text(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.cells = nn.Embedding(64, 32), nn.LSTM(32, 64, batch_first=True)
            self.head = nn.Linear(64, 64)

        def forward(self, x: Any) -> Any:
            return self.head(self.cells(self.words(x))[0]).flatten(0, 1)

    image = torch.rand(16, 3, 12, 12, generator=g)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(8 * 36, 10))
    mlp = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.LayerNorm(128), nn.Linear(128, 10))
    kinds = torch.randint(10, (16,), generator=g)
    return {"mlp": (mlp, torch.rand(16, 64, generator=g), kinds), "convolutions": (net, image, kinds),
        "lstm": (Text(), words[:, :-1], words[:, 1:].flatten()), "gpt": (Gpt(), words[:, :-1], words[:, 1:].flatten())}


def trainings(quick: bool) -> dict[str, Any]:
    """The losses of small trainings in float64, which must be the CPU's, and seconds a step in float32."""
    import copy

    import wengert as torch

    torch.manual_seed(0)
    steps, answer = 3 if quick else 10, {}
    for name, (model, x, y) in _models(torch).items():
        losses = {}
        for where in ("cpu", "cuda"):
            m = copy.deepcopy(model).to(where, torch.float64)
            a = x.to(where, torch.float64) if x.is_floating_point() else x.to(where)
            optimizer, row = torch.optim.AdamW(m.parameters(), lr=1e-3), []
            for _ in range(steps):
                loss = torch.nn.functional.cross_entropy(m(a), y.to(where))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                row.append(loss.item())
            losses[where] = row
        gap = max(abs(p - q) for p, q in zip(losses["cpu"], losses["cuda"]))
        answer[name] = {"gap": gap, "failed": not gap < 1e-8, "losses": losses["cuda"], "seconds": _step_time(torch,
            copy.deepcopy(model).to("cuda"), x.to("cuda"), y.to("cuda"), 2 if quick else 20)}
    return answer


def _step_time(torch: Any, model: Any, x: Any, y: Any, steps: int) -> float:
    """Seconds of a training step."""
    optimizer, start = torch.optim.SGD(model.parameters(), lr=1e-3), 0.0
    for at in range(steps + 2):
        if at == 2:  # warm
            torch.cuda.synchronize()
            start = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def gradients(quick: bool) -> dict[str, Any]:
    """``gradcheck`` and ``gradgradcheck`` of functions on the device."""
    import wengert as torch

    F = torch.nn.functional

    def leaf(*shape: int) -> Any:
        return (torch.rand(*shape, dtype=torch.float64, device="cuda") + 0.1).requires_grad_()

    torch.manual_seed(0)
    table = {"mul": (torch.mul, (2, 3), (2, 3)), "matmul": (torch.matmul, (2, 3), (3, 2)), "exp": (torch.exp, (3,)),
        "softmax": (lambda x: x.softmax(-1), (2, 3)), "layer_norm": (lambda x: F.layer_norm(x, (3,)), (2, 3)),
        "conv2d": (F.conv2d, (1, 2, 4, 4), (2, 2, 3, 3)), "sum": (lambda x: x.sum(0), (2, 3)),
        "index": (lambda x: x[torch.tensor([1, 0, 1])], (2, 2)), "cumsum": (lambda x: x.cumsum(0), (3,)),
        "gelu": (F.gelu, (4,)), "attention": (F.scaled_dot_product_attention, (1, 1, 3, 2), (1, 1, 3, 2),
        (1, 1, 3, 2)), "there and back": (lambda x: x.cpu().sin().cuda(), (3,)), "norm": (torch.linalg.norm, (2, 2)),
        "solve": (torch.linalg.solve, (2, 2), (2, 1)), "cat": (lambda a, b: torch.cat([a, b]), (2,), (2,))}
    answer = {}
    for name, (f, *shapes) in list(table.items())[: 4 if quick else None]:
        inputs = tuple(leaf(*s) for s in shapes)
        try:
            torch.autograd.gradcheck(f, inputs)
            torch.autograd.gradgradcheck(f, inputs)
            answer[name] = {"failed": False}
        except Exception as error:
            answer[name] = {"failed": True, "why": f"{type(error).__name__}: {error}"[:500]}
    return answer


def times(quick: bool) -> dict[str, Any]:
    """Microseconds of calls on small tensors, host and device together; bytes of one step; events and streams."""
    import wengert as torch

    a, b = torch.rand(32, 32, device="cuda"), torch.rand(32, 32, device="cuda", requires_grad=True)
    calls = {"add": lambda: a + a, "add, recorded": lambda: a + b, "matmul": lambda: a @ a,
        "sum": lambda: a.sum(), "softmax": lambda: a.softmax(-1), "backward": lambda: (b * a).sum().backward()}
    answer: dict[str, Any] = {}
    for name, call in calls.items():
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        n, start = 20 if quick else 300, time.perf_counter()
        for _ in range(n):
            call()
        torch.cuda.synchronize()
        answer[name] = {"microseconds": (time.perf_counter() - start) / n * 1e6, "failed": False}
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    c = torch.zeros(1 << 20, device="cuda")
    answer["memory"] = {"of 4 MiB": torch.cuda.memory_allocated() - before, "peak": torch.cuda.max_memory_allocated(),
        "failed": False}
    del c
    return answer


# -- the parts together ------------------------------------------------------------------------------------------------


def started(command: list[str], fake: bool) -> Any:
    environment = {**os.environ, "WENGERT_CUDA": "fake" if fake else "real", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)


def ended(process: Any, until: float) -> tuple[int, str, str]:
    """The status, output and errors of a process, which is stopped when the time is over."""
    try:
        out, err = process.communicate(timeout=max(1.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += "\nstopped: its time was over"
    return process.returncode, out, err


def checks(fake: bool, until: float) -> dict[str, Any]:
    """The checks of ``device_checks.py``."""
    done = started(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/cuda/device_checks.py"], fake)
    status, out, err = ended(done, until)
    return {"failed": status != 0, "last": out.strip().splitlines()[-1:] or err[-300:],
        "failures": [line for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))],
        "output": out[-20000:] if status else ""}


def table(fake: bool, quick: bool, until: float) -> dict[str, Any]:
    """Every sample of the operator table, in several processes."""
    parts = [0] if quick else range(PARTS)
    device = [] if fake else ["cuda"]
    of = 100 if quick else PARTS
    processes = [started(["tests/ops/foreign_sweep.py", *device, f"{i}/{of}"], fake) for i in parts]
    answer: dict[str, Any] = {"failures": {}, "left": set(), "operators": 0, "stopped": 0}
    for process in processes:
        status, out, err = ended(process, until)
        if status:
            answer["stopped"] += 1
            answer["failures"][f"part {processes.index(process)}"] = err[-1000:]
            continue
        for name, found in json.loads(out).items():
            answer["operators"] += 1
            answer["left"] |= set(found["left"])
            if found["failures"]:
                answer["failures"][name] = found["failures"]
    return {**answer, "left": sorted(answer["left"]), "failed": bool(answer["failures"])}


SMALL = {f.__name__: f for f in (machine, trainings, gradients, times)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fake", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=460.0)
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    parser.add_argument("--part", choices=SMALL, help="run this part in this process, and print its JSON")
    options = parser.parse_args()
    if options.part:
        if options.fake:
            from tests.cuda import fake

            fake.install()
        print(json.dumps(SMALL[options.part](options.quick)))
        return 0
    until, report = time.monotonic() + options.seconds, {}
    flags = ["--fake"] * options.fake + ["--quick"] * options.quick
    for name in ("machine", "times", "trainings", "gradients", "checks", "table"):
        began = time.monotonic()
        if name == "checks":
            found = {} if options.quick else checks(options.fake, min(until, began + 150))
        elif name == "table":
            found = table(options.fake, options.quick, until)
        else:
            process = started(["-m", "tests.cuda.on_device", "--part", name, *flags], options.fake)
            status, out, err = ended(process, min(until, began + 100))
            found = json.loads(out) if status == 0 else {"failed": True, "why": err[-3000:]}
        report[name] = {**found, "took": round(time.monotonic() - began, 1)}
        (Path(options.out) / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
        print(name, json.dumps(report[name])[:1500], flush=True)
    bad = failures(report)
    print(f"{len(bad)} failed: {', '.join(bad)}" if bad else "nothing failed")
    return 1 if bad else 0


def failures(report: Any, path: str = "") -> list[str]:
    """The places of a report that say ``failed``."""
    found = [path] if report.get("failed") else []
    return found + [x for key, value in report.items() if isinstance(value, dict)
        for x in failures(value, f"{path}/{key}" if path else key)]


if __name__ == "__main__":
    sys.exit(main())
