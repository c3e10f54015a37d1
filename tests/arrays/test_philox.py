"""The random numbers of CUDA devices: the generator of its paper, PyTorch's layout and numbers."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.arrays.random.philox import Philox, philox

ONES = (1 << 64) - 1


@pytest.mark.parametrize(("counter", "key", "words"), [
    ((0, 0), 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"), ((ONES, ONES), ONES, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ((0x85A308D3243F6A88, 0x0370734413198A2E), 0x299F31D0A4093822, "d16cfe09 94fdcceb 5001e420 24126ea1"),
])
def test_the_vectors_of_random123(counter, key, words):
    rows = philox(np.array([counter[0]], np.uint64), np.array([counter[1]], np.uint64), key)
    assert [f"{int(w[0]):08x}" for w in rows] == words.split()


def test_what_pytorch_prints_on_a_gpu():  # with seed 0, on any card
    assert Philox(0).uniform((5,), np.float32) == pytest.approx([0.3990, 0.5167, 0.0249, 0.9401, 0.9459], abs=5e-5)
    found = Philox(0).normal((5,), np.float32)
    assert found == pytest.approx([-0.9247, -0.4253, -2.6438, 0.1452, -0.1209], abs=5e-5)


@pytest.mark.parametrize("count", [1, 255, 256, 257, 1000, 5000])
@pytest.mark.parametrize("threads", [256, 1024, 1 << 18])
def test_the_layout_over_threads(count, threads):
    """Element by element, as the kernel's loop has it: a thread takes every ``threads``-th element, four to a block."""
    g = Philox(7, threads)
    g.set_offset(8)
    found = g.words(count, 4)
    used = 256 * min(-(-count // 256), threads // 256)
    flat = g._spread(found, count)
    for element in {0, count // 2, count - 1}:
        thread, turn = element % used, element // used
        block = philox(np.array([8 // 4 + turn // 4], np.uint64), np.array([thread], np.uint64), 7)
        assert flat[element] == block[turn % 4][0]
    assert g.get_offset() == 8 + 4 * (-(-count // (used * 4)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_distributions(dtype):
    g, n = Philox(3), 20000
    u, z = g.uniform((n,), dtype, 2.0, 4.0).astype(float), g.normal((n,), dtype, 1.0, 2.0).astype(float)
    assert u.min() >= 2 and u.max() < 4 and abs(u.mean() - 3) < 0.02 and abs(u.var() - 1 / 3) < 0.02
    assert abs(z.mean() - 1) < 0.05 and abs(z.std() - 2) < 0.05 and abs(((z - 1) ** 3).mean()) < 0.5
    e = g.exponential((n,), dtype, 2.0).astype(float)
    assert e.min() >= 0 and abs(e.mean() - 0.5) < 0.02
    assert abs(g.bernoulli((n,), 0.3, dtype).astype(float).mean() - 0.3) < 0.02
    assert abs(g.dropout_mask((n,), 0.3).mean() - 0.3) < 0.02 and g.dropout_mask((3, 5), 1.0).all()


def test_integers():
    g = Philox(0)
    for low, high in ((0, 10), (-3, 4), (0, 1 << 40), (-(1 << 62), 1 << 62)):
        found = g.randint(low, high, (1000,))
        assert found.dtype == np.int64 and found.min() >= low and found.max() < high
    assert set(g.randint(0, 3, (100,))) == {0, 1, 2} and g.randint(0, 5, (2, 3), np.float32).dtype == np.float32
    assert sorted(g.randperm(10)) == list(range(10))
    assert all(getattr(g, f)((0,), np.float32).shape == (0,) for f in ("uniform", "normal", "exponential"))


def test_states():
    g = Philox(5)
    g.uniform((10,), np.float32)
    state = g.get_state()
    assert state.shape == (16,) and state.view("<u8").tolist() == [5, 4]
    again = g.uniform((10,), np.float32)
    h = Philox(0).set_state(state)
    assert (h.uniform((10,), np.float32) == again).all() and h.initial_seed() == 5
    assert Philox(0).set_state(state[:8]).get_offset() == 0
    for wrong in (state[:0], np.zeros(24, np.uint8)):
        with pytest.raises(RuntimeError, match="RNG state is wrong size"):
            g.set_state(wrong)
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        g.set_offset(3)
