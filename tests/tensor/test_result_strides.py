"""How results of elementwise operators lie in memory, where their operands have dimensions of one element or gaps."""

from __future__ import annotations

import random

import numpy as np
import pytest

CASES = 1500


def geometries(rng):
    """Two operands that broadcast: shapes and strides, of permuted parts of tensors."""
    n = rng.choice((2, 3, 4))
    shape = [rng.choice((1, 1, 2, 3)) for _ in range(n)]
    for last in (False, True):
        mine = [1 if rng.random() < 0.25 else s for s in shape]
        if last and rng.random() < 0.4:
            mine = mine[rng.randrange(n) :]
        room = [s * rng.choice((1, 1, 2)) if s > 1 else rng.choice((1, 1, 3)) for s in mine]
        order = list(range(len(mine)))
        rng.shuffle(order)
        strides, step = [0] * len(mine), 1
        for d in order:
            strides[d] = step * (room[d] // mine[d] if mine[d] > 1 else 1)
            step *= room[d]
        yield tuple(mine), tuple(0 if s > 1 and rng.random() < 0.05 else k for s, k in zip(mine, strides))


def laid(result):
    return tuple((n, s) for n, s in zip(result.shape, result.stride()) if n != 1)


@pytest.mark.parity
def test_as_pytorch_has_them():
    torch = pytest.importorskip("torch")
    import wengert

    rng = random.Random(0)
    rare = [((1, 2, 1), (2, 1, 1)), ((3, 1, 1), (1, 3, 3))], [((3, 1, 1), (1, 3, 9)), ((1, 2, 1), (4, 2, 1))]
    for given in (*rare, *(list(geometries(rng)) for _ in range(CASES))):
        found, wanted = (t.mul(*(t.zeros(400).as_strided(*g) for g in given)) for t in (wengert, torch))
        assert laid(found) == laid(wanted), given


def test_natively_as_defined():
    import wengert as torch
    from wengert.arrays.layouts import in_order_of

    rng = random.Random(1)
    for _ in range(CASES):
        a, b = (torch.arange(400.0).as_strided(*g) for g in geometries(rng))
        found = a + b
        wanted = in_order_of(np.add(a._wg_data, b._wg_data), [a._wg_data, b._wg_data])
        assert laid(found) == laid(torch.from_numpy(wanted)), (a.shape, a.stride(), b.shape, b.stride())
        assert found.tolist() == wanted.tolist()


def test_parts_of_rows_take_no_step_in_python(monkeypatch):
    """Half of each row times a table, as rotary positions have it: also of one sequence, one head, one token."""
    import wengert as torch
    from wengert.arrays import layouts
    from wengert.tensor import native_call

    if not native_call.available:
        pytest.skip("needs the extension")
    monkeypatch.setattr(layouts, "result_strides", None)
    for shape in [(1, 1, 5, 8), (1, 4, 1, 8), (2, 3, 5, 8), (1, 1, 1, 8)]:
        x, table = torch.ones(shape), torch.ones(shape[2], 4)
        for y in (x[..., ::2] * table, torch.exp(x[..., 1::2]), x.transpose(1, 2)[..., ::2] * table[: shape[1], :1]
                if shape[1] == 1 else x[..., :4] - table):
            assert y.shape[-1] == 4 and y.stride(-1) == 1
