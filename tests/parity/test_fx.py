"""Traced programs on both libraries: the same graphs, the same code, the same texts."""

from __future__ import annotations

import math
import operator
import os
from typing import Any

import pytest

if os.environ.get("WENGERT_REQUIRE_PARITY") != "1":
    pytest.importorskip("torch", reason="compares with PyTorch")

import torch
import torch.fx
import torch.fx.experimental.proxy_tensor
import torch.fx.passes.split_module

import wengert
import wengert.fx
import wengert.fx.experimental.proxy_tensor
import wengert.fx.passes.split_module

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
LIBRARIES = (torch, wengert)


def agree(program: Any, *args: Any) -> None:
    theirs, ours = (program(library, *args) for library in LIBRARIES)
    assert ours == theirs


def shown(traced: Any) -> str:
    return f"{traced.graph}\n{traced.code}"


def trace(t: Any, f: Any, *args: Any) -> str:
    try:
        return shown(t.fx.symbolic_trace(f, *args))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# -- functions ---------------------------------------------------------------------------------------------------------

CALLS = """
t.relu(x)
F.relu(x)
F.relu(x, inplace=True)
F.linear(x, y)
F.linear(x, weight=y, bias=None)
F.conv2d(x, y, stride=2)
t.conv2d(x, y)
F.gelu(x)
F.gelu(x, approximate='tanh')
F.softmax(x, dim=1)
F.log_softmax(x, -1)
t.softmax(x, dim=1)
t.cat([x, y], dim=1)
t.cat((x, y), 1)
t.stack((x, y))
t.add(x, 1)
t.add(x, y, alpha=2)
t.matmul(x, y)
t.sum(x, dim=1, keepdim=True)
t.flatten(x, 1)
t.flatten(x, start_dim=1)
F.dropout(x, 0.5, True)
F.dropout(x, p=0.5)
F.max_pool2d(x, 2)
F.max_pool2d(x, kernel_size=3, stride=2, padding=1)
F.max_pool2d(x, 2, return_indices=True)
F.avg_pool2d(x, 2)
F.adaptive_avg_pool2d(x, (1, 1))
F.adaptive_max_pool2d(x, 1)
F.batch_norm(x, y, y)
F.layer_norm(x, (2,))
F.group_norm(x, 2, y)
F.instance_norm(x)
F.cross_entropy(x, y)
F.mse_loss(x, y)
F.l1_loss(x, y)
F.nll_loss(x, y)
F.binary_cross_entropy_with_logits(x, y, pos_weight=y)
F.kl_div(x, y, reduction='batchmean')
F.embedding(x, y)
F.embedding(x, y, padding_idx=0)
F.interpolate(x, scale_factor=2)
F.interpolate(x, (4, 4), mode='bilinear')
F.upsample(x, 2)
F.pad(x, (1, 1))
t.split(x, 2)
t.split(x, 2, dim=1)
x.split(2)
t.chunk(x, 2)
t.chunk(x, chunks=2, dim=1)
t.einsum('ij,jk->ik', x, y)
t.einsum("ij,jk->ik", (x, y))
t.ones_like(x)
t.where(x, x, y)
t.max(x)
t.max(x, 1)
t.max(x, dim=1)
t.norm(x)
t.norm(x, dim=1)
t.sigmoid(x)
F.sigmoid(x)
F.tanh(x)
F.silu(x)
F.leaky_relu(x, 0.1)
F.elu(x)
F.celu(x, alpha=2.0)
F.hardtanh(x)
F.relu6(x)
F.hardswish(x)
F.mish(x)
F.softplus(x)
F.logsigmoid(x)
F.prelu(x, y)
F.glu(x)
F.softsign(x)
F.gumbel_softmax(x)
F.one_hot(x, 3)
F.normalize(x)
F.cosine_similarity(x, y)
F.pixel_shuffle(x, 2)
F.unfold(x, 2)
F.fold(x, (4, 4), 2)
F.grid_sample(x, y)
F.conv_transpose2d(x, y)
F.scaled_dot_product_attention(x, y, y)
F.scaled_dot_product_attention(x, y, y, is_causal=True)
F.rms_norm(x, (2,))
F.lp_pool2d(x, 2.0, 2)
F.triplet_margin_loss(x, y, y)
t.zeros((x.size(0), 3))
t.full((2, x.size(0)), 1.0)
t.arange(x.shape[0], device=x.device)
t.linalg.norm(x)
t.linalg.inv(x)
t.fft.fft(x)
t.special.erf(x)
t.bmm(x, y)
t.clamp(x, min=0)
t.clamp(x, 0, 1)
t.reshape(x, (1, -1))
t.permute(x, (1, 0))
t.transpose(x, 0, 1)
t.transpose(x, dim0=0, dim1=1)
t.unsqueeze(x, dim=0)
t.mean(x, 1)
t.var(x, dim=1, unbiased=False)
t.topk(x, k=2)
t.gather(x, 0, y)
t.index_select(x, dim=0, index=y)
t.rand_like(x)
t.pow(2, x)
t.meshgrid(x, y)
t.broadcast_tensors(x, y)
t.cdist(x, y)
t.tensordot(x, y, 1)
t.bernoulli(x)
t.addmm(x, y, y)
t.baddbmm(x, y, y)
t.dropout(x, 0.5, True)
t.ones(2).expand_as(x)
t.ones(2) + x
t.ones(2)[x]
t.ones(2).view(x.size(0), -1)
t.ones(2).add(x)
x + y, y - x, x * 2, 2 - x, x / y, x // 2, x % 2, x ** 2, 2 ** x, x @ y, -x, ~x, +x, abs(x), x << 1, x & y, x | y, x ^ y
x < y, x <= 1, x == y, x != y, x > y, x >= y
x[0], x[None, 1:2, ...], x[:, y], x[x > 0], x['key']
x.relu(), x.view(-1, 2), x.sum(dim=1), x.to(t.float32), x.size(), x.size(0), x.shape, x.T, x.dtype, x.mT
x.softmax(dim=-1).masked_fill(y > 0, -1e9), x.type_as(y), x.new_zeros(3), x.contiguous().permute(0, 1)
float('inf') * x, float('nan') + x, x + 1j, x.to(t.device('cpu')), x.contiguous(memory_format=t.channels_last)
getattr(x, 'name'), x.name.other(1), x.f.g
[x, (y, {'k': x, 'l': None}), slice(x, None)]
math.sqrt(x), math.floor(y)
operator.add(x, y), operator.getitem(x, 0), operator.truediv(x, y)
t.nn.functional.relu(input=x)
t.ops.aten.add.Tensor(x, y), t.ops.aten.sum.dim_IntList(x, [1], keepdim=True), t.ops.aten.relu(x)
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
def test_calls(call: str) -> None:
    def program(t: Any) -> str:
        namespace = {"t": t, "F": t.nn.functional, "math": math, "operator": operator}
        exec(f"def f(x, y):\n    return {call}", namespace)
        return trace(t, namespace["f"])

    agree(program)


# -- modules -----------------------------------------------------------------------------------------------------------


def net(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.bn = t.nn.Conv2d(3, 4, 3), t.nn.BatchNorm2d(4)
            self.fc = t.nn.Sequential(t.nn.Linear(4, 5), t.nn.ReLU(), t.nn.Linear(5, 2))
            self.scale = t.nn.Parameter(t.ones(2))
            self.register_buffer("offset", t.ones(2))

        def forward(self, x, factor=2.0, *args, **kwargs):
            y = t.nn.functional.relu(self.bn(self.conv(x)))
            y = t.nn.functional.max_pool2d(y, 2) + t.sigmoid(y).mean()
            b, _c, _h, _w = y.shape
            y = t.nn.functional.adaptive_avg_pool2d(y, 1).view(b, -1)
            z = self.fc(t.cat([y, y], dim=1)[:, :4]) * factor + self.scale - self.offset + t.ones(2)
            z[0]
            return {"out": z, "scores": (z.softmax(-1), self.scale)}

    return Net()


def test_a_network() -> None:
    agree(lambda t: shown(t.fx.symbolic_trace(net(t))))
    agree(lambda t: str(t.fx.symbolic_trace(net(t))))
    agree(lambda t: t.fx.symbolic_trace(net(t)).print_readable(print_output=False))


LAYERS = """Linear(2, 2)|Conv1d(1, 1, 1)|PReLU()|ELU()|Hardtanh()|Hardswish()|SiLU()|Mish()|Softplus()|PixelShuffle(2)
Bilinear(2, 2, 2)|Identity()|GLU()|Unflatten(1, (1, 2))|ZeroPad2d(1)|LocalResponseNorm(2)|MSELoss()|CrossEntropyLoss()
CosineSimilarity()|RMSNorm(2)|LayerNorm(2)|GELU()|Dropout(0.1)|LeakyReLU()|ReLU(True)|MaxPool2d(2)|AvgPool2d(2)|Flatten()
AdaptiveAvgPool2d(1)|Upsample(scale_factor=2)|GroupNorm(1, 3)|Embedding(3, 3)|Hardsigmoid()|LogSigmoid()|Softsign()
ReLU6()|SELU()|Fold((2, 2), 1)|Unfold(2)|MaxPool2d(2, return_indices=True)|BCEWithLogitsLoss()|NLLLoss()
BatchNorm1d(3).eval()"""


@pytest.mark.parametrize("layer", LAYERS.replace("\n", "|").split("|"))
def test_inside_layers(layer: str) -> None:
    def program(t: Any) -> str:
        class Through(t.fx.Tracer):  # type: ignore[misc,name-defined]
            def is_leaf_module(self, m, path):
                return False

        try:
            return str(Through().trace(eval(f"t.nn.{layer}", {"t": t})))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    agree(program)


# -- control flow, fixed arguments -------------------------------------------------------------------------------------


def branching(x):
    return x if x.sum() > 0 else -x


def listed(x):
    return [v for v in x]  # noqa: C416  it is the loop that is refused


def starred(x):
    return dict(**x)


def measured(x):
    return len(x)


def whole(x):
    return int(x)


def written(x):
    x[0] = 1


REFUSED = [branching, listed, measured, starred, whole, written]


@pytest.mark.parametrize("f", REFUSED)
def test_what_cannot_be_traced(f: Any) -> None:
    agree(trace, f)


def chosen(x, flag=True, y=None):
    if flag:
        x = x + 1
    return x if y is None else x + y


def named_only(a, *, b=2):
    return a + b


def test_fixed_arguments() -> None:
    for args in ({"flag": True, "y": None}, {"flag": False}, (1, False, None)):
        agree(trace, chosen, args)
    agree(trace, named_only)

    def nested(t: Any) -> str:
        part = t.fx._symbolic_trace.PH
        return trace(t, lambda x, d: {"o": x["a"] + x["b"], "d": d}, {"x": {"a": part, "b": part}})

    agree(nested)


def test_unpacking() -> None:
    def unpacked(x):
        (a, b), c = x
        return a + b + c

    agree(trace, unpacked)


# -- work on graphs ----------------------------------------------------------------------------------------------------


def edited(t: Any) -> str:
    traced = t.fx.symbolic_trace(lambda x, y: (t.relu(x + y).sum(), x * 2)[0])
    out = [f"{n.op} {n.name} {n.args} {n.kwargs} {list(n.users)} {n.all_input_nodes} {n.prev} {n.next}"
        for n in traced.graph.nodes]
    relu = next(n for n in traced.graph.nodes if n.name == "relu")
    with traced.graph.inserting_after(relu):
        new = traced.graph.call_function(t.sigmoid, (relu,))
    relu.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
    traced.graph.lint()
    traced.recompile()
    out += [traced.code, str(traced.graph.eliminate_dead_code()), str(traced.graph)]
    graph = t.fx.Graph()
    x = graph.placeholder("x", type_expr=int, default_value=3)
    w = graph.get_attr("lin.weight")
    y = graph.call_method("add", (graph.call_module("lin", (x,)), 1), {"alpha": 2})
    graph.output((y, [w, {"k": y}], (y,)), type_expr=tuple)
    model = t.nn.Module()
    model.lin = t.nn.Linear(3, 3)
    made = t.fx.GraphModule(model, graph, "Mine")
    out += [str(graph), str(made), made.code]
    for bad in (lambda: traced.graph.erase_node(relu), lambda: t.fx.GraphModule({}, graph),
            lambda: y.args[0].args.append(1), lambda: list(graph.nodes)[-1].args[0][1].append(1)):
        try:
            bad()
        except Exception as error:
            out.append(f"{type(error).__name__}: {error}")
    return "\n".join(out)


def names(t: Any) -> str:
    graph = t.fx.Graph()
    made = [graph.create_node("placeholder", "x", name=name) for name in (
        "x", "x", "x_1", "x_2", "sum", "if", "CamelCase", "1a", "a.b", "x_1", "inf", "list", "add_3", "add")]
    return f"{made} {[graph.placeholder(n).name for n in ('CamelCase', '__add__', 'someThing')]}"


def rewritten(t: Any) -> str:
    traced = t.fx.symbolic_trace(lambda x, w: t.relu(x + w) * t.relu(w + x) + 1)
    found = t.fx.replace_pattern(traced, lambda a, b: t.relu(a + b),
        lambda a, b: t.nn.functional.gelu(a) * b)
    again = t.fx.subgraph_rewriter.replace_pattern_with_filters(traced, lambda a: a + 1, lambda a: a - 1,
        [lambda match, graph, pattern: True])
    return f"{found}\n{again}\n{traced.code}"


def transformed(t: Any) -> str:
    class Swap(t.fx.Transformer):  # type: ignore[misc,name-defined]
        def call_function(self, target, args, kwargs):
            return super().call_function(t.sigmoid if target is t.relu else target, args, kwargs)

    return shown(Swap(t.fx.symbolic_trace(lambda x: t.relu(x).sum())).transform())


def propagated(t: Any) -> str:
    traced = t.fx.symbolic_trace(lambda x, y: (t.relu(x + y).max(0), x.shape))
    t.fx.passes.shape_prop.ShapeProp(traced).propagate(t.ones(2, 3), t.ones(3))
    rows = [f"{n.name} {n.meta.get('tensor_meta')} {n.meta['type'].__name__}" for n in traced.graph.nodes]
    return "\n".join([*rows, traced.print_readable(print_output=False)])


def split(t: Any) -> str:
    def f(x, y):
        a = t.relu(x)
        b = t.tanh(y)
        c = a + b
        return c * a, b

    traced = t.fx.symbolic_trace(f)
    parts = {"relu": 0, "tanh": 1, "add": 2, "mul": 0}
    parts = {**parts, "mul": 2}
    out = []
    for order in (False, True):
        made = t.fx.passes.split_module.split_module(traced, None, lambda n: parts[n.name], keep_original_order=order)
        out += [shown(made), *(shown(part) for part in made.children())]
    return "\n".join(out)


@pytest.mark.parametrize("program", [edited, names, rewritten, transformed, propagated, split])
def test_programs_on_graphs(program: Any) -> None:
    agree(program)


# -- operators of aten -------------------------------------------------------------------------------------------------


def test_operators_are_recorded() -> None:
    def program(t: Any) -> str:
        def f(x):
            y = t.sin(x) * x + t.tensor([1.0, 2.0])
            return t.autograd.grad((y * y).sum(), x)[0], t.max(y.view(1, 2), 1)

        make_fx = t.fx.experimental.proxy_tensor.make_fx
        made = make_fx(f)(t.ones(2, requires_grad=True))
        code = made.code.replace(", memory_format = torch.preserve_format", "")
        d = make_fx(lambda d: {"r": d["a"] + d["b"]})({"a": t.ones(2), "b": t.ones(2)})
        return f"{code}\n{d.code}\n{made(t.tensor([0.5, 0.25]))[0].tolist()}"

    theirs, ours = (program(library).rpartition("\n") for library in LIBRARIES)
    assert ours[0] == theirs[0]
    assert eval(ours[2]) == pytest.approx(eval(theirs[2]), rel=1e-6)


