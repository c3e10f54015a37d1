"""What a library's code does by itself is none of the program's mistakes; what the program does with a library is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

LIBRARY = '''
import torch
from torch import nn


def threshold(x):
    """A number that x is compared with."""
    return x.sigmoid().mean().item()


class Sampled(nn.Module):
    """A parameter of its own decides, as a number, how often it computes."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.rate = inner, nn.Parameter(torch.tensor(0.3))

    def forward(self, x):
        return self.inner(x) * (1.0 + 1e-3 * threshold(self.rate * torch.rand(())))


class Fit:
    """Keeps what the model gives until the end of an epoch."""

    def __init__(self, model):
        self.model, self.outputs = model, []
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def epoch(self, x, y):
        for _ in range(12):
            self.optimizer.zero_grad()
            out = self.model(x)
            self.outputs.append(out)
            (out - y).square().mean().backward()
            self.optimizer.step()
        self.outputs.clear()


class Meter:
    def __init__(self):
        self.rows = []

    def record(self, value):
        self.rows.append(value)


class Descent:
    """An optimizer that is none of torch.optim's."""

    def __init__(self, parameters):
        self.parameters = list(parameters)

    def step(self):
        for p in self.parameters:
            p.data = p.data - 1e-2 * p.grad
            p.grad = None
'''

BEGIN = """
import torch
from torch import nn
import somelibrary as lib

torch.manual_seed(0)
x, y = torch.randn(32, 4), torch.randn(32, 1)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
"""

HEALTHY = {
    "a number of its own": """
model = lib.Sampled(net)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(6):
    optimizer.zero_grad()
    (model(x) - y).square().mean().backward()
    optimizer.step()
""",
    "what it keeps for an epoch": """
fit = lib.Fit(net)
for _ in range(3):
    fit.epoch(x, y)
""",
    "optimizers of its own": """
for _ in range(3):
    before = nn.Linear(4, 1)
    descent = lib.Descent(before.parameters())
    for _ in range(15):
        (before(x) - y).square().mean().backward()
        descent.step()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(6):
    optimizer.zero_grad()
    (net(x) - y).square().mean().backward()
    optimizer.step()
""",
    "an optimizer of its own beside another": """
head = nn.Linear(1, 1)
optimizer, descent = torch.optim.Adam(net.parameters()), lib.Descent(head.parameters())
for _ in range(12):
    optimizer.zero_grad()
    (head(net(x)) - y).square().mean().backward()
    optimizer.step()
    descent.step()
""",
}

BROKEN = {
    ("cut-item", "lib.threshold(self.scale"): """
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return net(x) * lib.threshold(self.scale * 2.0)

model = Scaled()
optimizer = torch.optim.Adam([*net.parameters(), *model.parameters()])
for _ in range(6):
    optimizer.zero_grad()
    (model(x) - y).square().mean().backward()
    optimizer.step()
""",
    ("graph-leak", "meter.record(loss)"): """
meter = lib.Meter()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(20):
    optimizer.zero_grad()
    loss = (net(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    meter.record(loss)
""",
    ("not-in-optimizer", "torch.optim.Adam(net.parameters())"): """
head = nn.Linear(1, 1)
optimizer = torch.optim.Adam(net.parameters())
start = {name: value.clone() + 0.1 for name, value in head.state_dict().items()}
for step in range(12):
    optimizer.zero_grad()
    (head(net(x)) - y).square().mean().backward()
    optimizer.step()
    if step == 1:
        head.load_state_dict(start)
""",
}


def findings(tmp_path: Path, program: str) -> list[dict]:
    folder = Path(sysconfig.get_path("purelib", f"{os.name}_user", {"userbase": str(tmp_path / "base")}))
    folder.mkdir(parents=True)
    (folder / "somelibrary.py").write_text(LIBRARY)
    (tmp_path / "train.py").write_text(BEGIN + program)
    found = tmp_path / "found.json"
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    done = subprocess.run([sys.executable, "-m", "wengert", "run", "--explain", "--json", str(found), "train.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONUSERBASE": str(tmp_path / "base"), "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    rows: list[dict] = [f for f in json.loads(found.read_text())["findings"] if f["severity"] != "info"]
    return rows


@pytest.mark.parametrize("name", HEALTHY)
def test_what_it_does_by_itself(name: str, tmp_path: Path) -> None:
    found = findings(tmp_path, HEALTHY[name])
    assert not found, json.dumps(found, indent=1)


@pytest.mark.parametrize("name", BROKEN, ids=lambda name: name[0])
def test_what_is_done_with_it(name: tuple[str, str], tmp_path: Path) -> None:
    found = findings(tmp_path, BROKEN[name])
    lines = (tmp_path / "train.py").read_text().splitlines()
    assert [(f["id"], name[1] in lines[f["line"] - 1]) for f in found] == [(name[0], True)], json.dumps(found, indent=1)
