"""Every operator of the table, checked from its declaration: values, first and second derivatives, views, types,
in-place.

The arguments come from ``tests/ops/samples``; the derivatives are compared with central differences along random
directions in float64.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import wengert as torch
from tests.exceptions import all_needed, excused
from wengert.ops import FAMILIES
from wengert.ops.operator import TABLE, Composite, Operator
from wengert.tensor.functions import function, inplace_function
from wengert.tensor.namespaces import ARRAY_OPS, TRACED_OPS

from .samples import ANY_VALUE, BY_MEMORY, NO_SECOND, SAMPLES
from .sampling import draw

CASES = [pytest.param(n, i, id=f"{n}-{i}") for n in sorted(SAMPLES) for i in range(len(SAMPLES[n]))]
STEP = 1e-5
SINGLE = 32 * 2.0**-23  # how far float32 may be off, in units of the largest number: measured are 8 roundings at most
SECOND_DIFFERS = {("masked_logaddexp", i): "NaN where both are masked, as in PyTorch" for i in (0, 1)}
# Calls whose answer depends on strides: (name, number of the sample) -> why.
OTHER_STRIDES = {
    **dict.fromkeys((("as_strided_scatter", 0), ("as_strided_scatter", 1)), "speaks of the memory of its argument"),
    **dict.fromkeys((("view", 0), ("conv_tbc", 0), ("conv_tbc", 1), ("take_along_dim", 3)),
        "a view that the strides do not allow"),
}
# Expressions with a kernel that no gradient of the samples calls.
UNCALLED = {"resolve_conj"}


def differentiable(op):
    return not isinstance(op, Operator) or (op.wrt and any(r is not None for r in op.rules or (1,)))


def test_every_differentiable_operator_has_samples():
    missing = [n for n, op in TABLE.items() if differentiable(op) and op.places and n not in SAMPLES]
    assert not missing, f"no samples for {missing}: add them to tests/ops/samples"


def test_samples_name_operators():
    assert not [n for n in SAMPLES if n not in TABLE]


def test_no_operator_is_left_out_as_random():
    """They draw from a seed, so that each call can be made again; nor does the samples' list of exceptions hold other
    names than ours.
    """
    assert not ANY_VALUE
    assert {name for name, _ in SECOND_DIFFERS} == NO_SECOND
    assert {name for name, _ in OTHER_STRIDES} >= BY_MEMORY


def arguments(name, number, dtype=None, view=False):
    sample = SAMPLES[name][number]
    rng = np.random.default_rng(zlib.crc32(f"{name}{number}".encode()))
    args = [make(a, rng, dtype, view) for a in sample.args]
    options = {k: make(v, rng, dtype, view) for k, v in sample.options.items()}
    return args, options


def make(spec, rng, dtype, view):
    value = draw(spec, rng, torch)
    if isinstance(value, list):
        return [retyped(v, dtype, view) for v in value]
    return retyped(value, dtype, view)


def retyped(value, dtype, view):
    if dtype is not None and isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.float32)
    if not isinstance(value, torch.Tensor):
        return value
    a = value.detach().numpy()
    if view and a.ndim:  # the same numbers with other strides and an offset
        wide = np.zeros(tuple(2 * n + 1 for n in a.shape), a.dtype).T.copy().T
        window = wide[tuple(slice(1, None, 2) for _ in a.shape)][tuple(slice(0, n) for n in a.shape)]
        window[...] = a
        a = window
    t = torch.from_numpy(a) if view else torch.tensor(a)
    if dtype is not None and t.is_floating_point():
        t = t.to(dtype)
    return t.requires_grad_(True) if value.requires_grad else t


def leaves(args, options):
    flat = []
    for a in [*args, *options.values()]:
        flat.extend(a if isinstance(a, list) else [a])
    return [a for a in flat if isinstance(a, torch.Tensor) and a.requires_grad]


def outputs(result):
    row = result if isinstance(result, (tuple, list)) else [result]
    return [r for r in row if isinstance(r, torch.Tensor) and (r.is_floating_point() or r.is_complex())]


def call(name, args, options):
    torch.manual_seed(0)
    return outputs(function(name)(*args, **options))


def weights(outs, seed):
    rng = np.random.default_rng(seed)
    found = []
    for o in outs:
        w = rng.standard_normal(tuple(o.shape))
        found.append(torch.tensor(w + 1j * rng.standard_normal(tuple(o.shape)) if o.is_complex() else w))
    return found


def gradients(outs, ins, ws, create_graph=False):
    live = [(o, w.to(o.dtype)) for o, w in zip(outs, ws) if o.requires_grad]
    if not live:
        return [None] * len(ins)
    return torch.autograd.grad([o for o, _ in live], ins, [w for _, w in live], allow_unused=True,
        create_graph=create_graph)


def pair(xs, ws):
    """The real inner product of two lists of tensors, None counting as zero."""
    total = 0.0
    for x, w in zip(xs, ws):
        if x is not None:
            total += float(np.real(np.sum(x.detach().numpy() * np.conj(w.detach().numpy()))))
    return total


def directional(value, ins, directions):
    """Central difference of ``value()`` when the inputs move along ``directions``."""
    kept = [t.detach().clone() for t in ins]
    found = []
    for sign in (1, -1):
        with torch.no_grad():
            for t, base, d in zip(ins, kept, directions):
                t.copy_(base + (sign * STEP) * d)
        found.append(value())
    with torch.no_grad():
        for t, base in zip(ins, kept):
            t.copy_(base)
    return (found[0] - found[1]) / (2 * STEP)


def close(a, b, tolerance):
    assert abs(a - b) <= tolerance * max(1.0, abs(a), abs(b)), f"{a} against {b}"


@pytest.mark.parametrize(("name", "number"), CASES)
def test_first_derivative(name, number):
    args, options = arguments(name, number)
    ins = leaves(args, options)
    if not ins:
        call(name, args, options)
        return
    outs = call(name, args, options)
    ws = weights(outs, 1)
    grads = gradients(outs, ins, ws)
    for t, g in zip(ins, grads):
        assert g is None or (g.shape == t.shape and g.dtype == t.dtype)
    for trial in range(2):
        rng = np.random.default_rng(trial)
        directions = [torch.tensor(rng.standard_normal(tuple(t.shape))) for t in ins]
        numeric = directional(lambda: pair(call(name, args, options), ws), ins, directions)
        close(numeric, pair(grads, directions), 1e-6)


WITH_LEAVES = [c for c in CASES if leaves(*arguments(*c.values))]


@pytest.mark.parametrize(("name", "number"), WITH_LEAVES)
def test_second_derivative(name, number):
    with excused(SECOND_DIFFERS.get((name, number))):
        check_second_derivative(name, number)


def check_second_derivative(name, number):
    args, options = arguments(name, number)
    ins = leaves(args, options)
    ws = weights(call(name, args, options), 1)

    def first():
        return gradients(call(name, args, options), ins, ws, create_graph=True)

    for plain, recorded in zip(gradients(call(name, args, options), ins, ws), first(), strict=True):
        assert (plain is None) == (recorded is None)
        if plain is not None:  # arrays and tensors go other ways through a rule
            np.testing.assert_allclose(recorded.detach().numpy(), plain.numpy(), rtol=1e-9, atol=1e-9)
    vs = weights([g for g in first() if g is not None], 2)

    def value():
        return pair([g for g in first() if g is not None], vs)

    rng = np.random.default_rng(3)
    directions = [torch.tensor(rng.standard_normal(tuple(t.shape))) for t in ins]
    numeric = directional(value, ins, directions)
    grads = first()
    live = [g for g in grads if g is not None and g.requires_grad]
    if not live:
        close(numeric, 0.0, 1e-5)
        return
    picked = [v for g, v in zip([g for g in grads if g is not None], vs, strict=True) if g.requires_grad]
    second = torch.autograd.grad(live, ins, picked, allow_unused=True)
    close(numeric, pair(second, directions), 2e-5)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_strides_do_not_matter(name, number):
    found = []
    with excused(OTHER_STRIDES.get((name, number)), RuntimeError):
        for view in (False, True):
            args, options = arguments(name, number, view=view)
            outs = call(name, args, options)
            grads = gradients(outs, leaves(args, options), weights(outs, 1))
            found.append([o.detach().numpy() for o in outs] + [None if g is None else g.numpy() for g in grads])
        for a, b in zip(*found, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_kernels_compute_their_expressions(monkeypatch):
    """A composite with a kernel has an expression beside it, which says what the kernel computes: in each call that a
    gradient makes.
    """
    called = set()

    def tensors(a):
        if type(a) is list:
            return [tensors(x) for x in a]
        return ARRAY_OPS.wrap(np.asarray(a)) if isinstance(a, (np.ndarray, np.floating)) else a

    def checked(name, kernel):
        def run(*args):
            found = kernel(*args)
            with torch.no_grad():
                told = TABLE[name].define(TRACED_OPS, *map(tensors, args))
            for a, b in zip(*(x if isinstance(x, (list, tuple)) else [x] for x in (found, told)), strict=True):
                assert (a is None) == (b is None), name
                if a is not None:
                    np.testing.assert_allclose(a, np.broadcast_to(np.asarray(b), np.shape(a)), rtol=1e-9, atol=1e-10,
                        err_msg=name)
            called.add(name)
            return found

        return run

    composites = {name: op for name, op in TABLE.items()
        if isinstance(op, Composite) and op.define.__module__.rpartition(".")[2] in FAMILIES}
    # (those of recurrent layers are loaded with nn)
    kernels = [name for name, op in composites.items() if op.raw is not None]
    for name in kernels:
        monkeypatch.setitem(ARRAY_OPS.__dict__, name, checked(name, getattr(ARRAY_OPS, name)))
    for case in WITH_LEAVES:
        args, options = arguments(*case.values)
        outs = call(case.values[0], args, options)
        gradients(outs, leaves(args, options), weights(outs, 1))
    all_needed(kernels, called | UNCALLED, "the table: no gradient of the samples calls it")
    all_needed(UNCALLED, {*kernels} - called, "UNCALLED")


def as_double(value):
    """The same numbers in double precision."""
    if isinstance(value, list):
        return [as_double(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return value.astype(np.float64)
    if isinstance(value, torch.Tensor) and value.dtype in (torch.float32, torch.complex64):
        return value.detach().to(torch.float64 if value.dtype is torch.float32 else torch.complex128).requires_grad_(
            value.requires_grad)
    return value


def single_precision(name, number):
    """What a call of float32 gives and what one of float64 gives for the same numbers: results, then gradients."""
    args, options = arguments(name, number, dtype=torch.float32)
    doubles = [as_double(a) for a in args], {k: as_double(v) for k, v in options.items()}
    if name == "fake_quantize_per_channel_affine":  # whose scale is float32 always
        doubles[0][1] = args[1]
    narrow, wide = call(name, args, options), call(name, *doubles)
    ws = [w.to(n.dtype) for w, n in zip(weights(narrow, 1), narrow, strict=True)]
    return (
        (narrow, wide),
        (gradients(narrow, leaves(args, options), ws),
            gradients(wide, leaves(*doubles), [w.to(o.dtype) for w, o in zip(ws, wide, strict=True)])),
    )


@pytest.mark.parametrize(("name", "number"), WITH_LEAVES)
def test_single_precision(name, number):
    """float32 in, float32 out, float32 gradients. Values and gradients are those of float64 for the same numbers, but
    for rounding.
    """
    results, grads = single_precision(name, number)
    for narrow, wide in zip(*results, strict=True):
        assert (narrow.dtype == {torch.float64: torch.float32, torch.complex128: torch.complex64}.get(wide.dtype)
            or name == "float_power")
    for narrow, wide in zip(*grads, strict=True):
        assert (narrow is None) == (wide is None)
        assert narrow is None or narrow.dtype == torch.float32
    for narrow, wide in [*zip(*results, strict=True), *zip(*grads, strict=True)]:
        if narrow is not None and narrow.numel():
            exact = wide.detach().numpy()
            np.testing.assert_allclose(narrow.detach().numpy(), exact, rtol=0,
                atol=SINGLE * max(1, np.abs(exact).max()))


def writes_to_a_leaf(name, number):
    """Whether the operator has an in-place form, and the sample writes to a tensor of floats by it."""
    if not (isinstance(TABLE[name], Operator) and TABLE[name].inplace):
        return False
    args, options = arguments(name, number)
    ins = leaves(args, options)
    return bool(ins) and args[0] is ins[0]


INPLACE = [c for c in CASES if writes_to_a_leaf(*c.values)]


@pytest.mark.parametrize(("name", "number"), INPLACE)
def test_inplace_form(name, number):
    """``x.op_()`` gives the values, the history and the gradients of ``x.op()``, or refuses and
    leaves ``x`` as it was.
    """
    args, options = arguments(name, number)
    ins = leaves(args, options)
    expected = call(name, args, options)[0]
    expected_grads = gradients([expected], ins, weights([expected], 1))
    x = args[0].clone()
    if expected.shape != x.shape or expected.dtype != x.dtype:
        before = x.detach().numpy().copy()
        with pytest.raises(RuntimeError):
            inplace_function(name)(x, *args[1:], **options)
        np.testing.assert_array_equal(x.detach().numpy(), before)
        assert x._version == 0
        return
    y = inplace_function(name)(x, *args[1:], **options)
    assert y is x and x._version == 1 and x.requires_grad == expected.requires_grad
    np.testing.assert_allclose(x.detach().numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-12)
    found = gradients([x], ins, weights([x], 1))
    assert [g is None for g in found] == [g is None for g in expected_grads]
    for a, b in zip(expected_grads, found, strict=True):
        if a is not None:
            assert b.dtype == a.dtype
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-10, atol=1e-10)


def test_parameters_do_not_take_the_names_of_generated_functions():
    from wengert.ops.operator import Operator

    def forward(input, op):
        return input

    with pytest.raises(ValueError, match="parameter of the name 'op'"):
        Operator(forward, None, {"places": ()}).params  # which makes the fields of the declaration
