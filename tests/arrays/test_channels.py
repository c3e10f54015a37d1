"""Short stretches of channels, as of the last layers of a network of convolutions, and short rows."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from wengert.arrays import kernels as K
from wengert.arrays.plain import rows

needs_native = pytest.mark.skipif(not K.available, reason="there is no extension")
SHAPES = [(16, 6, 2), (3, 5, 7), (700, 2, 2), (300, 3, 4, 4), (4, 6, 16, 1), (2, 3, 63), (2, 3, 64), (1, 4, 2, 1)]


def data(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_short_stretches(shape, dtype):
    x, g = data(shape, dtype), data(shape, dtype, 1)
    weight, bias = data(shape[1], dtype, 2), data(shape[1], dtype, 3)
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-12}
    mean, var = K.channel_moments(x)
    for found, wanted in zip((mean, var), rows.channel_moments(x.astype(np.float64))):
        np.testing.assert_allclose(found, wanted, **close)
    rstd = K.channel_rstd(var, 1e-5)
    found, wanted = (f(x, mean, rstd, weight, bias) for f in (K.channel_norm, rows.channel_norm))
    np.testing.assert_allclose(found, wanted, **close)
    for training in (False, True):
        found = K.batch_norm_grad(g, x, mean, rstd, weight, training)
        wanted = rows.batch_norm_grad(*(a.astype(np.float64) for a in (g, x, mean, rstd, weight)), training)
        for a, b in zip(found, wanted):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3 if dtype == np.float32 else 1e-9)


@needs_native
def test_short_stretches_are_kernels():
    from wengert.arrays import _kernels

    for shape in SHAPES:
        x = data(shape, np.float32)
        found = _kernels.channel_moments(x)
        assert found is not NotImplemented
        assert _kernels.channel_affine(x, *found) is not NotImplemented


@pytest.mark.parametrize("dtypes", list(itertools.product(("float32", "float64", "float16"), repeat=2)), ids=str)
def test_statistics_move_in_place(dtypes):
    running, batch = data(9, dtypes[0]), data(9, dtypes[1], 1)
    wanted = running.copy()
    step = (batch * batch.dtype.type(1.25)).astype(wanted.dtype) - wanted
    wanted += wanted.dtype.type(0.1) * step
    assert K.statistics_moved(running, batch, 0.1, 1.25) is None
    np.testing.assert_array_equal(running, wanted)
    parts = np.zeros(10, np.float32)[::2]
    K.statistics_moved(parts, np.ones(5, np.float32), 0.5, 2)
    assert parts.tolist() == [1.0] * 5


_ROWS = """
import hashlib
import numpy as np
import wengert as torch

rng, digest = np.random.default_rng(0), hashlib.sha256()
for kind in ("float32", "float64"):
    for n in (1, 5, 8, 15, 16, 20, 33, 40, 50, 80, 130, 250, 256, 1000, 2049, 3000):
        x = torch.from_numpy(3 * rng.standard_normal((37, n)).astype(kind)).requires_grad_()
        g = torch.from_numpy(rng.standard_normal((37, n)).astype(kind))
        for y in (x.softmax(-1), x.log_softmax(-1), torch.nn.functional.layer_norm(x, (n,))):
            for a in (y.detach(), torch.autograd.grad(y, x, g)[0]):
                digest.update(a.numpy().tobytes())
print(digest.hexdigest())
"""


@needs_native
def test_rows_give_the_same_with_vectors_of_any_length():
    """Short rows take the kernels of shorter vectors."""
    found = set()
    for isa in ("avx2", "avx512"):
        environment = {**os.environ, "WENGERT_ISA": isa}
        command = [sys.executable, "-c", _ROWS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("n", [1, 16, 50, 300, 2048, 2049, 5000])
def test_logarithms_of_weights_by_several_rows(n):
    x = data((70, n), np.float64) * 5
    wanted = x - x.max(1, keepdims=True)
    wanted = wanted - np.log(np.exp(wanted).sum(1, keepdims=True))
    np.testing.assert_allclose(K.log_softmax(x, 1), wanted, rtol=1e-12, atol=1e-12)
    same = x.astype(np.float32)
    np.testing.assert_allclose(K.log_softmax(same, 1), wanted, rtol=1e-4, atol=1e-5)
