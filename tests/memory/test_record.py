"""What a forward does is written down as it runs: decisions, modes, attributes, outputs of all kinds."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import warnings
from collections import OrderedDict

import pytest

import wengert as torch
import wengert.nn.functional as F
from tests.memory.nets import Branching, square
from tests.memory.test_planned import Step, equal
from tests.memory.usual import GNN
from wengert import nn
from wengert.arrays import memory
from wengert.memory.plan import fitted
from wengert.memory.trace import Call, trace
from wengert.utils.checkpoint import Plan, plan

pytestmark = pytest.mark.skipif(not memory.available, reason="memory is counted by the native extension")


class Stack(nn.Module):
    """Layers; subclasses say what is done between them."""

    def __init__(self, count=6, width=32):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(count)])
        self.scale, self.calls = 0.5, 0

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = self.between(torch.tanh(layer(x)), i)
        return x

    def between(self, x, i):
        return x * self.scale


def same(model, module, sample, loss=square):
    step = Step(model, module, sample, loss)
    step.same(Step(model, model, sample, loss))
    return step


def planned(model, sample, part=0.7, loss=square):
    """A plan of several blocks, and that it computes the same in its budget."""
    module = plan(model, sample, part, loss=loss, repeats=1, progress=False)
    assert len(module.plan.chain) > 4, module.plan.table()
    step = same(model, module, sample, loss)
    assert step.bytes <= 1.05 * module.plan.budget + 1024
    return module


class Early(Branching):
    """Gives what it has when that is large, which is asked of data."""

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
            if x.mean() > 0.5:
                break
        count = int((x[0] > 2).sum())
        return x * 2 if count else x


def test_decisions_that_depend_on_data_are_made_again():
    torch.manual_seed(0)
    model, sample = Early(), torch.randn(1024, 64)
    module = planned(model, sample)
    assert "guard" in {op.kind for op in module._known[0].program.operations}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(model, module, torch.randn(1024, 64))
    with torch.no_grad():
        model.layers[1].bias.fill_(3.0)
    with pytest.warns(UserWarning, match="depends on data"):
        same(model, module, sample)
    with torch.no_grad():
        model.layers[1].bias.fill_(0.0)
    assert same(model, module, sample).bytes <= 1.05 * module.plan.budget


def test_numbers_that_depend_on_data_may_differ():
    torch.manual_seed(0)
    model = GNN()
    data = {"x": torch.randn(200, 8), "edge_index": torch.randint(200, (2, 900)), "batch": torch.arange(200) // 50}
    module = planned(model, (data,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size, edges in ((50, 900), (20, 900), (50, 700)):
            other = {**data, "edge_index": data["edge_index"][:, :edges], "batch": torch.arange(200) // size}
            step = same(model, module, (other,))
            assert step.bytes <= 1.06 * module.plan.budget


class Teacher(Stack):
    def between(self, x, i):
        with torch.no_grad():
            target = self.layers[i](x)
        return x + (x - target)


def test_gradients_stay_off_where_they_were():
    torch.manual_seed(0)
    planned(Teacher(), torch.randn(2048, 32))


class Cast(Stack):
    def between(self, x, i):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.layers[i](x)
        return torch.tanh(y.float())


def test_casts_are_made_where_they_were():
    torch.manual_seed(0)
    planned(Cast(), torch.randn(2048, 32), 0.9)


class Logged(Stack):
    def between(self, x, i):
        self.last = x
        return x * self.scale


class Counted(Stack):
    def forward(self, x):
        self.calls += 1
        return super().forward(x)


def test_attributes_of_modules():
    torch.manual_seed(0)
    model, sample = Logged(), torch.randn(2048, 32)
    module = planned(model, sample)
    module(sample)
    assert equal(model.last * 0.5, model(sample))
    model, sample = Counted(), torch.randn(2048, 32)
    module = plan(model, sample, 1.0, loss=square, repeats=1, progress=False)
    assert "attribute 'calls'" in module.plan.table() and model.calls == 0
    module(sample)
    assert model.calls == 1


def test_settings_may_change():
    torch.manual_seed(0)
    model, sample = Stack(), torch.randn(2048, 32)
    module = planned(model, sample)
    for scale in (0.5, 0.25, 2.0, 0.25):
        model.scale = scale
        assert same(model, module, sample).bytes <= 1.05 * module.plan.budget


class Reshaped(Stack):
    def between(self, x, i):
        rows, width = x.shape
        assert rows <= 4096
        return x.view(rows // 2, 2, width).sum(1, keepdim=True).expand(rows // 2, 2, width).reshape(rows, width)


def test_other_shapes():
    torch.manual_seed(0)
    model, sample = Reshaped(), torch.randn(2048, 32)
    module = planned(model, sample)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (1024, 10, 2048, 64):
            assert same(model, module, sample[:rows]).bytes <= 1.05 * module.plan.budget
    other = Plan.apply(module.plan, model)
    assert same(model, other, sample[:1024]).bytes <= module.plan.budget
    with pytest.raises(AssertionError):
        module(torch.randn(8192, 32))


@dataclasses.dataclass(frozen=True)
class Output:
    loss: torch.Tensor
    parts: list
    name: str = "output"


class ModelOutput(OrderedDict):
    """As in transformers: a dictionary whose entries are attributes, too."""

    def __getattr__(self, name):
        return self[name]


class Various(Stack):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        parts = []
        for layer in self.layers:
            x = torch.tanh(layer(x))
            parts.append(x.mean())
        if self.kind is Output:
            return Output(square(x), parts)
        return self.kind(loss=square(x), parts=tuple(parts), nothing=None)


@pytest.mark.parametrize("kind", [Output, ModelOutput, dict])
def test_outputs_of_all_kinds(kind):
    torch.manual_seed(0)
    model, sample = Various(kind), torch.randn(2048, 32)

    def loss(output):
        return output["loss"] if kind is dict else output.loss

    module = planned(model, sample, loss=loss)
    mine, theirs = module(sample), model(sample)
    assert type(mine) is type(theirs) is kind
    if kind is Output:
        assert mine.name == "output" and all(equal(a, b) for a, b in zip(mine.parts, theirs.parts))
    else:
        assert list(mine) == list(theirs) and mine["nothing"] is None and isinstance(mine["parts"], tuple)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g


class Custom(Stack):
    def between(self, x, i):
        return Cube.apply(x)


class Writing(Stack):
    def between(self, x, i):
        mask = torch.zeros_like(x)
        mask[:, ::2] = 1
        mask[0] = 0
        x = x * mask
        x += 1
        return x.clone().clamp_(min=0.5)


class Random(Stack):
    def between(self, x, i):
        noise = torch.randn(x.shape[0], 1) * 0.1
        keep = torch.empty(x.shape[0], 1).bernoulli_(0.8)
        return x * keep.div_(0.8) + noise


@pytest.mark.parametrize("kind", [Custom, Writing, Random])
def test_operations_of_all_kinds(kind):
    torch.manual_seed(0)
    planned(kind(), torch.randn(2048, 32), 0.8)


class Routed(nn.Module):
    """A module whose shapes depend on data."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(32, 32)

    def forward(self, x):
        rows = (x[:, 0] > 0).nonzero()[:, 0]
        return x.index_add(0, rows, torch.tanh(self.layer(x[rows])))


class Routing(Stack):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Routed() for _ in range(6)])


def test_modules_whose_shapes_depend_on_data():
    torch.manual_seed(0)
    model = Routing()
    module = planned(model, torch.randn(2048, 32), 0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            same(model, module, torch.randn(2048, 32))


def test_a_trace_leaves_no_trace():
    torch.manual_seed(0)
    model, sample = nn.Sequential(Logged(), nn.BatchNorm1d(32), nn.Dropout(0.5)), torch.randn(2048, 32)
    state, before = {n: v.clone() for n, v in model.state_dict().items()}, torch.get_rng_state()
    torch.cpu.reset_peak_memory_stats()
    held = torch.cpu.memory_allocated()
    program, _ = trace(model, Call((sample,), {}))
    assert torch.cpu.max_memory_allocated() - held < 6 * sample.nbytes + 600_000  # no graph was kept
    assert "setattr" in program.names() and not hasattr(model[0], "last")
    assert equal(before, torch.get_rng_state())
    assert all(equal(state[n], v) for n, v in model.state_dict().items())
    assert nn.Module.__call__.__module__ == nn.Module.__init__.__module__
    called = nn.Module.__call__
    with pytest.raises(RuntimeError, match="mat1"):
        trace(model, Call((torch.ones(3, 5),), {}))
    assert nn.Module.__call__ is called


def test_hooks_of_a_model_are_called():
    torch.manual_seed(0)
    model, sample, seen = Stack(), torch.randn(2048, 32), []
    handle = model.layers[2].register_forward_hook(lambda m, args, y: seen.append(y.shape))
    planned(model, sample)
    handle.remove()
    assert len(seen) > 3
    handle = model.register_forward_hook(lambda m, args, y: y * 2)
    module = plan(model, sample, 1.0, loss=square, repeats=1, progress=False)
    assert equal(module(sample), model(sample)) and "it has hooks" in module.plan.table()
    handle.remove()


def test_plans_of_models_that_do_other_things():
    torch.manual_seed(0)
    model, sample = Stack(), torch.randn(2048, 32)
    found = planned(model, sample).plan
    with pytest.raises(ValueError, match="another model"):
        found.apply(Writing())(sample)
    assert fitted(found.chain, found.budget, layout=found.layout).schedule == found.schedule
    assert F.mse_loss(found.apply(model)(sample), model(sample)) == 0


def test_devices_are_arguments(tmp_path):
    """Of a program that calls the package ``torch``: there the class of devices has another module."""
    program = tmp_path / "program.py"
    program.write_text("""
import torch
from torch import nn
from torch.utils.checkpoint import plan

class Placed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return torch.tanh(self.layer(x)) + torch.arange(8, device=x.device)

model = nn.Sequential(Placed(), Placed())
print(plan(model, torch.randn(4, 8), 1.0, repeats=1, progress=False).plan.layout["ends"])
""", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "wengert", "run", program], capture_output=True, text=True)
    assert "'tanh'" in done.stdout, done.stdout + done.stderr  # not the two modules as they are
