"""What a picture knows: values, what is saved and its bytes, gradients, names, lines and modules."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest

import wengert as torch
from tests.draw.nets import net
from wengert import diagnose, nn
from wengert.draw.graph import INPUT, LEAF, OPERATION, RESULT
from wengert.graph import anomaly


def rows(drawing, kind):
    return [item for item in drawing.graph.items if item.kind == kind]


def named(drawing, name):
    return next(item for item in drawing.graph.items if item.name == name)


def edges(drawing):
    items = drawing.graph.items
    return {(items[a.source].name, items[a.target].name) for a in drawing.graph.arrows}


def test_values_and_edges():
    w = torch.ones(2, 3, requires_grad=True)
    h = w.exp()
    loss = (h * 2).sum()
    drawing = torch.draw(loss)
    assert [(i.kind, i.name, i.shape, i.variable) for i in drawing.graph.items] == [
        (LEAF, "w", (2, 3), ""), (OPERATION, "ExpBackward0", (2, 3), "h"), (OPERATION, "MulBackward0", (2, 3), ""),
        (OPERATION, "SumBackward0", (), ""), (RESULT, "loss", (), "")]
    assert edges(drawing) == {("w", "ExpBackward0"), ("ExpBackward0", "MulBackward0"),
        ("MulBackward0", "SumBackward0"), ("SumBackward0", "loss")}
    assert named(drawing, "loss").value == f"{6 * 2 * math.e:.3g}"


def test_saved_memory_counts_once():
    x = torch.ones(10, requires_grad=True)
    y = x.exp()  # keeps its result
    z = y * y.sin()  # keeps both factors, of which one is that result; sin keeps it too
    graph = torch.draw(z.sum()).graph
    saved = {(i.name, s.name): s.bytes for i in graph.items for s in i.saved}
    assert saved["ExpBackward0", "result"] == 40
    assert saved["SinBackward0", "self"] == 0
    assert sorted(b for (name, _), b in saved.items() if name == "MulBackward0") == [0, 40]
    assert graph.saved == 80
    notes = {s.note for i in graph.items if i.name == "MulBackward0" for s in i.saved}
    assert notes == {"", "y"}


def test_a_view_is_the_memory_of_its_base():
    x = torch.ones(10, requires_grad=True)
    y = x.exp()
    graph = torch.draw(y.view(2, 5).tanh().sum() + y.sin().sum()).graph
    assert graph.saved == 80


def test_parameters_are_no_saved_memory():
    model = nn.Linear(3, 4)
    x = torch.ones(2, 3, requires_grad=True)
    drawing = torch.draw(model, x)
    (linear,) = rows(drawing, OPERATION)
    assert {s.name: (s.bytes, s.note) for s in linear.saved} == {"mat1": (0, "input"), "mat2": (0, "weight")} or (
        {s.note for s in linear.saved} == {"input", "weight"} and not drawing.graph.saved)


def test_freed_by_the_backward():
    x = torch.ones(3, requires_grad=True)
    loss = x.exp().sum()
    loss.backward()
    drawing = torch.draw(loss)
    assert named(drawing, "ExpBackward0").freed and not named(drawing, "ExpBackward0").saved
    assert "what it saved is freed" in drawing.mermaid()


def norms(drawing):
    items = drawing.graph.items
    return {(items[a.source].name, items[a.target].name): a.norm for a in drawing.graph.arrows}


def test_gradients_after_a_backward():
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    loss = (x * x.detach()).sum()
    drawing = torch.draw(loss)
    assert set(norms(drawing).values()) == {None}
    assert "∇" not in drawing.mermaid()
    loss.backward()
    assert norms(drawing)["x", "MulBackward0"] == pytest.approx(5.0)
    assert norms(drawing)["MulBackward0", "SumBackward0"] == pytest.approx(math.sqrt(2))
    assert "∇ 5" in drawing.mermaid() and "grad: norm 5" in drawing.mermaid()


def test_gradients_are_what_arrives_after_broadcasting():
    b = torch.ones(1, requires_grad=True)
    loss = (torch.ones(4) + b).sum()
    drawing = torch.draw(loss)
    loss.backward()
    assert norms(drawing)["b", "AddBackward0"] == 4


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("how", ["retain", "create", "grad"])
def test_gradients_of_other_backwards(how):
    x = torch.ones(2, requires_grad=True)
    loss = (x.exp() * 2).sum()
    drawing = torch.draw(loss)
    if how == "grad":
        torch.autograd.grad(loss, x)
    else:
        loss.backward(retain_graph=True, create_graph=how == "create")
        if how == "retain":
            (loss * 3).backward()
    one = math.sqrt(2) * 2 * math.e
    assert norms(drawing)["x", "ExpBackward0"] == pytest.approx(one * (3 if how == "retain" else 1))


def test_without_gradients_nothing_is_hooked():
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().sum()
    drawing = torch.draw(loss, gradients=False)
    assert loss.grad_fn.hooks is None
    loss.backward()
    assert set(norms(drawing).values()) == {None} and "grad" not in drawing.mermaid()


def test_a_backward_in_what_is_drawn():
    x = torch.tensor([3.0, 4.0], requires_grad=True)

    def step():
        loss = (x * x.detach()).sum()
        loss.backward()
        return loss

    drawing = torch.draw(step)
    assert norms(drawing)["x", "MulBackward0"] == pytest.approx(5.0)


def test_a_picture_keeps_no_graph():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    node = weakref.ref(y.grad_fn)
    array = weakref.ref(y._wg_data)
    drawing = torch.draw(y.sum())
    del y
    gc.disable()
    try:
        assert node() is None and array() is None
    finally:
        gc.enable()
    assert len(drawing.graph.items) == 4


def test_modules_and_lines():
    model = net()
    drawing = torch.draw(model, torch.ones(5, 3))
    paths = [tuple(path for _, path, _ in item.modules) for item in rows(drawing, OPERATION)]
    assert paths[0] == ("", "first") and ("", "blocks.1", "blocks.1.norm") in paths and paths[-1] == ("", "last")
    relu = named(drawing, "ReluBackward0")
    assert relu.place.file.endswith("nets.py") and "torch.relu" in relu.place.text
    assert drawing.result.shape == (5, 2)
    assert rows(drawing, INPUT)[0].name == "x"
    assert {"first.weight", "blocks.0.norm.bias"} <= {i.name for i in rows(drawing, LEAF)}


def test_recording():
    with torch.draw.recording():
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
    (operation,) = rows(torch.draw(y), OPERATION)
    assert operation.place.text == "y = x.exp()"
    (operation,) = rows(torch.draw(x.exp()), OPERATION)
    assert operation.place is None


def test_lines_of_a_diagnosis():
    with diagnose.watch():
        x = torch.ones(2, requires_grad=True)
        with torch.draw.recording():
            y = x.exp()
        z = x.exp()
    for t in (y, z):
        (operation,) = rows(torch.draw(t), OPERATION)
        assert operation.place.text.endswith("x.exp()")


def test_a_call_that_raises_ends_the_recording():
    def fails():
        raise KeyError("here")

    with pytest.raises(KeyError):
        torch.draw(fails)
    assert anomaly.watch is None
    y = torch.ones(2, requires_grad=True).exp()
    assert rows(torch.draw(y), OPERATION)[0].place is None


def test_names():
    t = torch.ones(2, requires_grad=True)
    inner = {"k": torch.ones(2, requires_grad=True)}
    model = nn.Linear(2, 2)
    drawing = torch.draw(model(t * inner["k"]).sum())
    assert {i.name for i in rows(drawing, LEAF)} == {"t", "inner['k']", "model.weight", "model.bias"}
    drawing = torch.draw(model(t).sum(), names=model)
    assert {i.name for i in rows(drawing, LEAF)} == {"t", "weight", "bias"}
    drawing = torch.draw(t.sum(), names={"given": t})
    assert [i.name for i in rows(drawing, LEAF)] == ["given"]
    assert [i.name for i in rows(torch.draw((t * 1).sum(), names=[("pair", t)]), LEAF)] == ["pair"]
    with pytest.raises(TypeError, match="'x' should be a tensor, not int"):
        torch.draw(t.sum(), names={"x": 1})


def test_unnamed():
    drawing = torch.draw([torch.ones(2, requires_grad=True)][0].sum())
    assert [i.name for i in rows(drawing, LEAF)] == ["leaf"]
    assert [i.name for i in rows(drawing, RESULT)] == ["result"]


def test_several_results():
    x = torch.ones(4, requires_grad=True)
    drawing = torch.draw({"a": x.exp(), "b": [x.sin(), x]})
    assert [i.name for i in rows(drawing, RESULT)] == ["a", "b[0]"]
    a, b = x.split(2)
    drawing = torch.draw((a.exp(), b))
    (split,) = (i for i in rows(drawing, OPERATION) if i.name == "SplitBackward0")
    assert split.outputs == 2 and "2 values" in drawing.mermaid()


@pytest.mark.parametrize("requires", [False, True])
def test_leaves_alone(requires):
    t = torch.ones(3, requires_grad=requires)
    drawing = torch.draw(t)
    assert [(i.kind, i.name, i.bytes) for i in drawing.graph.items] == [(LEAF if requires else INPUT, "t", 12)]


def test_inputs_that_nothing_keeps_are_left_out():
    w = torch.ones(2, requires_grad=True)
    drawing = torch.draw(lambda a, b: (w * a + b).sum(), torch.ones(2), torch.ones(2))
    assert [i.name for i in rows(drawing, INPUT)] == ["a"]
    assert ("a", "MulBackward0") in edges(drawing) and ("MulBackward0", "AddBackward0") in edges(drawing)


def test_custom_functions_and_composites():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x * 1)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(1, 2, 6, 6, requires_grad=True)
    w = torch.ones(3, 2, 2, 2, requires_grad=True)
    loss = torch.conv2d(Twice.apply(x), w).std()
    drawing = torch.draw(loss)
    assert named(drawing, "TwiceBackward").saved[0].bytes == 4 * 72
    loss.backward()
    assert all(n is not None for (_, to), n in norms(drawing).items() if to != "loss")


def test_saved_tensor_hooks_are_not_asked():
    asked = []
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: asked.append(t) or t):
        y = x.exp()
    torch.draw(y)
    assert not asked


def test_written_in_place():
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    y[:2].exp_()
    loss = y.sum()
    drawing = torch.draw(loss)
    assert "CopySlices" in {i.name for i in rows(drawing, OPERATION)}
    loss.backward()
    assert norms(drawing)["CopySlices", "SumBackward0"] == 2


def test_gradients_of_other_kinds():
    table = nn.Embedding(4, 2, sparse=True)
    loss = table(torch.tensor([1, 1])).sum()
    drawing = torch.draw(loss)
    loss.backward()
    assert "EmbeddingBackward0" in drawing.mermaid()
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    loss = (z * 2).abs().sum()
    drawing = torch.draw(loss)
    loss.backward()
    assert norms(drawing)["z", "MulBackward0"] == pytest.approx(2 * math.sqrt(2))


def test_infinite_gradients():
    x = torch.zeros(2, requires_grad=True)
    loss = x.log().sum()
    drawing = torch.draw(loss)
    with np.errstate(all="raise"):
        loss.backward()
    assert norms(drawing)["x", "LogBackward0"] == math.inf and "∇ ∞" in drawing.mermaid()


@pytest.mark.parametrize(("args", "message"), [
    ((5,), "takes tensors, or a callable that gives some, not int"),
    ((lambda: 5,), "takes tensors, or a callable that gives some, not int"),
    (([],), "takes tensors"),
    ((nn.Linear(2, 2),), r"needs its inputs, to call it: draw\(linear, x\)"),
    ((torch.ones(2), torch.ones(2)), "takes inputs only for a module"),
])
def test_refusals(args, message):
    with pytest.raises(TypeError, match=message):
        torch.draw(*args)
