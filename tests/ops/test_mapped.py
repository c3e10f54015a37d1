"""Every operator of the table under ``vmap``, against the same operator called example by example.

The arguments come from ``tests/ops/samples``. Mapped are all tensors at once and each one alone; compared are results,
gradients, backwards of several vectors at once (``is_grads_batched``), and tangents along several directions at once.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch
from tests.exceptions import excused
from wengert.ops.operator import TABLE
from wengert.tensor.functions import function

from .test_declared import SAMPLES, arguments

# Operators whose results have sizes that depend on the numbers, or that answer in Python.
DYNAMIC = {"nonzero", "masked_select", "unique", "unique_consecutive", "repeat_interleave", "histogram",
           "histogramdd", "nonzero_static"}
# at the numbers of an argument, as PyTorch does
LOOKING = {"gaussian_nll_loss", "repeat_interleave_each", "tensor_split"}
REFUSED = {"segment_reduce": "the lengths of other examples do not fit"}
NAMES = sorted(n for n in SAMPLES if SAMPLES[n] and n not in DYNAMIC | LOOKING)
SIZE = 3


def batch(x):
    """Three examples like ``x``: other numbers of the same kind."""
    a = x.detach().numpy()
    if a.dtype.kind in "fc":
        a = np.stack([a * s for s in (1.0, 0.9, 0.8)])
    else:
        a = np.stack([a] * SIZE) if a.ndim < 1 or a.size == 0 else np.stack([np.roll(a, i, -1) for i in range(SIZE)])
    t = torch.tensor(a)
    return t.requires_grad_(True) if x.requires_grad else t


def places(args, options):
    """Where the tensors are: ``(key, index within a list or None)``."""
    found = []
    for key, v in [*enumerate(args), *options.items()]:
        if isinstance(v, list):
            found += [(key, i) for i, x in enumerate(v) if isinstance(x, torch.Tensor)]
        elif isinstance(v, torch.Tensor):
            found.append((key, None))
    return found


def with_tensors(args, options, where, tensors):
    args, options = ([list(a) if isinstance(a, list) else a for a in args],
        {k: list(v) if isinstance(v, list) else v for k, v in options.items()})
    for (key, i), t in zip(where, tensors):
        holder = args if isinstance(key, int) else options
        if i is None:
            holder[key] = t
        else:
            holder[key][i] = t
    return args, options


def results(name, args, options):
    answer = function(name)(*args, **options)
    row = answer if isinstance(answer, (tuple, list)) else [answer]
    return tuple(r for r in row if isinstance(r, torch.Tensor))


def compared(found, expected, what):
    a, b = found.detach().numpy(), expected.detach().numpy()
    assert a.dtype == b.dtype, f"{what}: {a.dtype}, example by example {b.dtype}"
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=what)


def check(name, args, options, where):
    tensors = []
    for key, i in where:
        v = args[key] if isinstance(key, int) else options[key]
        tensors.append(v if i is None else v[i])
    batches = [batch(t) for t in tensors]

    def one(*given):
        return results(name, *with_tensors(args, options, where, given))

    rows = [one(*[b[k] for b in batches]) for k in range(SIZE)]
    expected = [torch.stack(c) for c in zip(*rows)]
    found = torch.vmap(one)(*batches)
    assert len(found) == len(expected)
    for i, (f, e) in enumerate(zip(found, expected)):
        compared(f, e, f"result {i} of {name}, mapped over {where}")
    ins = (
        [b for b in batches if b.requires_grad] + [
            t for t in (*args, *options.values()) if isinstance(t, torch.Tensor) and t.requires_grad])
    live = [(f, e) for f, e in zip(found, expected) if e.requires_grad]
    if not live or not ins:
        return
    rng = np.random.default_rng(0)
    seeds = []
    for _, e in live:
        w = rng.standard_normal(e.shape)
        seeds.append(torch.tensor(w).to(e.dtype))
    gradients = [torch.autograd.grad([pair[k] for pair in live], ins, seeds, allow_unused=True) for k in (0, 1)]
    for i, (f, e) in enumerate(zip(*gradients)):
        if f is None or e is None:
            assert not [g for g in (f, e) if g is not None and g.any()]
        else:
            compared(f, e, f"gradient {i} of {name}, mapped over {where}")


@pytest.mark.parametrize("name", NAMES)
def test_mapped_is_example_by_example(name):
    with excused(REFUSED.get(name), RuntimeError, IndexError, ValueError):
        check_all(name)


@pytest.mark.parametrize("name", sorted((DYNAMIC | LOOKING) & {n for n in SAMPLES if SAMPLES[n]}))
def test_what_looks_at_numbers_cannot_be_mapped(name):
    with excused("DYNAMIC or LOOKING", Exception):
        check_all(name)


def check_all(name):
    for number in range(len(SAMPLES[name])):
        args, options = arguments(name, number)
        where = places(args, options)
        if not where:
            continue
        check(name, args, options, where)
        if len(where) > 1:
            for place in where:
                check(name, args, options, [place])


@pytest.mark.parametrize("name", [n for n in NAMES if getattr(TABLE[n], "wrt", True)])
def test_backward_of_several_vectors_at_once(name):
    for number in range(len(SAMPLES[name])):
        args, options = arguments(name, number)
        ins = [t for v in (*args, *options.values()) for t in (v if isinstance(v, list) else [v])
            if isinstance(t, torch.Tensor) and t.requires_grad]
        outs = [r for r in results(name, args, options) if r.requires_grad]
        if not outs or not ins:
            continue
        rng = np.random.default_rng(1)
        vectors = [torch.tensor(rng.standard_normal((2, *o.shape))).to(o.dtype) for o in outs]
        expected = [torch.autograd.grad(outs, ins, [v[k] for v in vectors], retain_graph=True, allow_unused=True)
            for k in range(2)]
        found = torch.autograd.grad(outs, ins, vectors, retain_graph=True, allow_unused=True, is_grads_batched=True)
        for i, (f, *rows) in enumerate(zip(found, *expected)):
            if f is None:
                assert not any(r is not None and r.any() for r in rows)
            else:
                compared(f, torch.stack([torch.zeros_like(f[0]) if r is None else r for r in rows]),
                    f"gradient {i} of {name}")


@pytest.mark.parametrize("name", [n for n in NAMES if getattr(TABLE[n], "wrt", True)])
def test_tangents_of_several_directions_at_once(name):
    args, options = arguments(name, 0)
    where = [p for p in places(args, options) if pick(args, options, p).requires_grad]
    ins = [pick(args, options, p).detach() for p in where]
    if not ins:
        return

    def f(*given):
        return tuple(r for r in results(name, *with_tensors(args, options, where, given))
            if r.is_floating_point() or r.is_complex())

    if not f(*ins):  # nothing that is differentiable
        return
    rng = np.random.default_rng(2)
    directions = [torch.tensor(rng.standard_normal((2, *x.shape))).to(x.dtype) for x in ins]
    args, options = with_tensors(args, options, where, ins)
    expected = [torch.func.jvp(f, tuple(ins), tuple(d[k] for d in directions))[1] for k in range(2)]
    found = torch.vmap(lambda *row: torch.func.jvp(f, tuple(ins), row)[1])(*directions)
    for i, (a, *rows) in enumerate(zip(found, *expected)):
        compared(a, torch.stack(rows), f"tangent {i} of {name}")


def pick(args, options, place):
    key, i = place
    v = args[key] if isinstance(key, int) else options[key]
    return v if i is None else v[i]
