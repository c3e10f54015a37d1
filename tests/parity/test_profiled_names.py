"""The names in profiles: every one is PyTorch's, and operator by operator, forward and backward, which are shown."""

from __future__ import annotations

import warnings
from importlib import import_module
from itertools import islice
from pkgutil import iter_modules

import pytest

import wengert
from tests.parity.twins import Twin, label, ours, torch
from wengert.autograd._recorder_names import ACCUMULATIONS, STEPS, event_name, inner, named, product_name
from wengert.autograd._recorder_rules import _UFUNCS
from wengert.autograd.profiler import profile
from wengert.ops.operator import TABLE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

# Operators whose profiles show the same names on both libraries, of all in op_db. Those left out differ in the steps of
# their gradients (one kernel here is several operators there, or the other way round) or in how memory is asked for.
ALIKE = """
bfloat16 bool byte char conj cos cosh digamma exp exp2 float frac half i0 int isnan isneginf isposinf lgamma log log10
log2 long neg nn.functional.elu nn.functional.hardsigmoid nn.functional.mish nn.functional.relu nn.functional.selu
nn.functional.silu nn.functional.softplus nn.functional.tanhshrink nn.functional.threshold positive reciprocal short
sigmoid signbit sin sinh special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1
special.erfcx special.i0e special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0
special.modified_bessel_k1 special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1
special.spherical_bessel_j0 tanh __radd__ __rdiv__ __rmul__ __rsub__ add eq fmod ge gt heaviside hypot le lt mul ne
remainder rsub special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v
special.chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he special.laguerre_polynomial_l
special.legendre_polynomial_p special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u
special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w sub argwhere bmm chunk diag diag_embed
diagonal diff dot dsplit dstack fft.fftshift fft.ifftshift hsplit lerp linalg.diagonal linalg.matrix_power log_softmax
masked_fill mm narrow nn.functional.adaptive_max_pool2d nn.functional.avg_pool2d nn.functional.gelu
nn.functional.layer_norm nn.functional.leaky_relu nn.functional.max_pool2d nn.functional.softmin nonzero softmax split
split_with_sizes sum_to_size tensor_split tril triu unsafe_chunk unsafe_split vdot vsplit argmax argmin
"""


@pytest.fixture(scope="module")
def theirs():
    return {name.removeprefix("aten::").partition(".")[0] for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::")}


def test_no_name_is_unknown_to_pytorch(theirs):
    for module in (*iter_modules(import_module("wengert.ops").__path__, "wengert.ops."), "wengert.distributions",
            "wengert.nn"):
        import_module(getattr(module, "name", module))  # some operators come late
    ours = {event_name(op) for op in TABLE.values()} - {None}
    ours |= (
        {*STEPS} | {step for names, _ in (*STEPS.values(), *ACCUMULATIONS.values()) for step in names
            if step != "detach"})
    ours |= (
        {f"aten::{name}" for name in _UFUNCS.values()} | {product_name(a, b) for a in range(1, 4) for b in range(1, 4)})
    assert {name.removeprefix("aten::") for name in ours} <= theirs


def test_composites_of_python_are_not_shown():
    assert (named("masked_softmax") is None and named("normalize") is None
        and named("masked_fill") == "aten::masked_fill")
    x = wengert.rand(3, 4, requires_grad=True)
    with profile() as prof:
        wengert.masked.softmax(x, 1, mask=x > 0.5).sum().backward()
    names = {e.name for e in prof.function_events}
    assert (not any("masked_softmax" in name for name in names) and "autograd::engine::evaluate_function: "
        "SumBackward0" in names)
    with profile() as prof:
        (g,) = wengert.autograd.grad(x.tanh().sum(), x, create_graph=True)
        g.sum().backward()
    names = {e.name for e in prof.function_events}
    assert "aten::tanh_backward" in names and not any("_grad" in name for name in names if name.startswith("aten"))


def test_steps_lie_within_each_other():
    class Row:
        def __init__(self, name, start, end):
            self.name, self.start, self.end, self.inside = name, start, end, []

    def add(name, start, end, around, works):
        made = Row(name, start, end)
        assert around.start <= start <= end <= around.end and (not around.inside or around.inside[-1].end <= start)
        around.inside.append(made)
        return made

    def tree(row):
        return row.name, [tree(r) for r in row.inside]

    top = Row("aten::to", 0, 5000)
    inner(top, add)
    assert tree(top)[1] == [("aten::_to_copy", [("aten::empty_strided", []), ("aten::copy_", [])])]
    assert top.inside[0].inside[1].end - top.inside[0].inside[1].start == 4900
    short = Row("aten::to", 0, 2)
    inner(short, add)
    assert tree(short)[1] == [("aten::_to_copy", [])]


def shown(prof):
    return {e.name for e in prof.function_events}


def names_of(profiler, f, sample, backward, ones):
    def leaves(out):
        return ([t for o in out for t in leaves(o)] if isinstance(out, (list, tuple))
            else [out] * hasattr(out, "grad_fn"))

    f(sample.input, *sample.args, **sample.kwargs)
    with profiler() as prof:
        out = f(sample.input, *sample.args, **sample.kwargs)
    found = shown(prof)
    outs = [t for t in leaves(out) if t.requires_grad]
    if outs:
        grads = [ones(t) for t in outs]
        with profiler() as prof:
            backward(outs, grads)
        found |= shown(prof)
    return found


OPS = {label(op): op for op in op_db}
# Which of the calls in op_db is made, where it is not the first.
CALL = {
    "nn.functional.relu": 1, "__rdiv__": 5, "__rsub__": 5, "fmod": 5, "hypot": 5, "remainder": 5, "rsub": 5, "sub": 5,
    "diff": 2, "linalg.matrix_power": 2, "nn.functional.layer_norm": 5, "nn.functional.max_pool2d": 1,
}


@pytest.mark.parametrize("name", ALIKE.split())
def test_the_same_names_are_shown(name):
    op = OPS[name]
    samples = op.sample_inputs("cpu", torch.float64, requires_grad=op.supports_autograd)
    sample = next(islice(samples, CALL.get(name, 0), None))
    twin = sample.transform(Twin())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = names_of(torch.autograd.profiler.profile, op.op, sample, torch.autograd.backward, torch.ones_like)
        assert names_of(profile, ours(op), twin, wengert.autograd.backward, wengert.ones_like) == expected
