"""Tensors among NumPy's functions, and constructors and sizes of old, on both libraries."""

from __future__ import annotations

import numpy as np
import pytest

import wengert

torch = pytest.importorskip("torch")
both = pytest.mark.parametrize("lib", [wengert, torch], ids=["wengert", "torch"])


@both
def test_numpy_functions_of_tensors_give_tensors(lib):
    m = lib.arange(4.0).view(2, 2)
    for made in (np.sin(m), np.add(m, 1), np.transpose(m), np.matmul(np.ones((2, 2), np.float32), m)):
        assert type(made) is lib.Tensor and made.dtype == lib.float32
    product = m * np.ones((2, 2))
    assert type(product) is lib.Tensor and product.dtype == lib.float64 and product.tolist() == m.tolist()
    assert np.greater(m, 1).dtype == lib.uint8
    assert type(np.exp(lib.tensor(1.0))) is lib.Tensor
    assert type(np.stack([m, m])) is np.ndarray


@both
def test_numpy_functions_do_not_lose_gradients_in_silence(lib):
    w = lib.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        np.sin(w)
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        w * np.ones(2)


@both
def test_new(lib):
    m = lib.zeros(2, dtype=lib.float64)
    assert m.new(2, 3).shape == m.new(lib.zeros(2, 3).size()).shape == (2, 3) and m.new().shape == (0,)
    for made in (m.new([1, 2]), m.new(np.array([1.0, 2.0])), m.new(lib.tensor([1.0, 2.0], dtype=lib.float64))):
        assert made.tolist() == [1.0, 2.0] and made.dtype == lib.float64
    with pytest.raises(TypeError):
        m.new(lib.tensor([1]))


@both
def test_resize(lib):
    x = lib.arange(6)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_((3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert x.resize_(9)[:6].tolist() == list(range(6)) and x.resize_as_(lib.zeros(3)).tolist() == [0, 1, 2]
    assert lib.arange(6)[3:].resize_(2, 1).tolist() == [[3], [4]]
    assert lib.arange(6).view(2, 3).t().resize_(6).tolist() == list(range(6))
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        lib.ones(2, requires_grad=True).resize_(3)


@both
def test_methods_that_are_functions_too(lib):
    w = lib.ones(2, requires_grad=True)
    assert not lib.detach(w).requires_grad
    assert lib.zero_(lib.ones(2)).tolist() == [0.0, 0.0] and lib.fill_(lib.ones(2), 3).tolist() == [3.0, 3.0]
    value = lib.tensor(2.0, requires_grad=True)
    lib.fill(w, value).sum().backward()
    assert value.grad.item() == 2.0
    assert lib.cosine_similarity(w, w, dim=0).item() == pytest.approx(1.0)
    assert lib.pairwise_distance(lib.zeros(1, 2), lib.tensor([[3.0, 4.0]])).item() == pytest.approx(5.0, rel=1e-5)


@both
def test_unravel_index(lib):
    index = lib.tensor([[5, 1, 0]])
    rows, columns = lib.unravel_index(index, (2, 3))
    assert (rows.tolist() == [[1, 0, 0]] and columns.tolist() == [[2, 1, 0]]
        and lib.unravel_index(index.int(), (2, 3))[0].dtype == lib.int64)
    assert ([c.tolist() for c in lib.unravel_index(lib.tensor(7), 8)] == [7]
        and lib.unravel_index(lib.tensor(0), ()) == ())
    with pytest.raises(TypeError, match="expected 'indices' to be integer dtype"):
        lib.unravel_index(lib.tensor(1.0), (2, 3))
    with pytest.raises(ValueError, match="cannot have negative values"):
        lib.unravel_index(index, (2, -3))


@both
def test_normal_of_tensors(lib):
    mean, std = lib.zeros(3, 1), lib.ones(2)
    lib.manual_seed(0)
    drawn = lib.normal(mean, std)
    assert drawn.shape == (3, 2) and not drawn.requires_grad
    lib.manual_seed(0)
    assert lib.equal(lib.normal(mean + 1, std), drawn + 1)
    assert lib.normal(mean, 2.0).shape == (3, 1) and lib.normal(0.0, std).shape == (2,)
    w = lib.ones(2, requires_grad=True)
    assert lib.normal(w, std).requires_grad
