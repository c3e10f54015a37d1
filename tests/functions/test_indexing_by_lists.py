"""Subscripts that are lists: as NumPy once did, a short list with anything but numbers in it is taken for a tuple."""

from __future__ import annotations

import warnings

import pytest

ALL = slice(None)
KEYS = {
    "two rows of places": [[0, 4], [2, 2]], "three": [[0, 4], [2, 2], [1, 1]], "slices first": [ALL, ALL, [1, 3]],
    "slices last": [[1, 3], ALL], "one row": [[0, 4, 2]], "none": [None, 1], "ellipsis": [..., 1], "one slice": [ALL],
    "deeper": [[[0, 1]]], "number and list": [0, [1, 2]], "mask": [[True, False, True, False, True]], "empty": [[]],
    "slice and number": [slice(0, 2), 1],
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_taken_for_a_tuple(torch, key):
    x = torch.arange(125.0).view(5, 5, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = x[key]
        assert torch.equal(found, x[tuple(key)])
        y, z = x.clone(), x.clone()
        y[key] = -1.0
        z[tuple(key)] = -1.0
    assert torch.equal(y, z)


def test_tensors_in_a_list(torch):
    x = torch.arange(125.0).view(5, 5, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.equal(x[[torch.tensor([0, 1]), torch.tensor([2, 2])]], x[[0, 1], [2, 2]])
        assert torch.equal(x[[torch.tensor(1), torch.tensor(2)]], x[1, 2])


def test_numbers_are_indices_of_one_dimension(torch):
    x = torch.arange(125.0).view(5, 5, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x[[0, 1]].shape == (2, 5, 5)
        assert x[[True, False, True, False, True]].shape == (3, 5, 5)
        assert x[[]].shape == (0, 5, 5)


def test_gradients(torch):
    x = torch.ones(5, 5, requires_grad=True)
    y = x * 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y[[[0, 4], [2, 2]]] = 0.0
    y.sum().backward()
    assert x.grad.sum() == 23 and x.grad[0, 2] == x.grad[4, 2] == 0


def test_a_list_of_lists_indexes_each_dimension(torch):
    x = torch.arange(9.0).reshape(3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert x[[[0, 1], [1, 2]]].tolist() == [1.0, 5.0] and x[[slice(0, 1), 1]].tolist() == [1.0]
        assert x[[torch.tensor(0), torch.tensor(2)]].tolist() == 2.0
    assert x[[0, 1]].tolist() == x[:2].tolist()


@pytest.mark.parametrize("key", [(2, [0, 4], ALL), (ALL, [1], 3), (0, ALL, [[0, 1], [2, 3]]), (ALL, -1, [4, 0, 0]),
    ([0, 1], ALL, [3, 2]), (ALL, [-1])], ids=str)
def test_numbers_and_lists_mixed(torch, key):
    a = torch.arange(125.0).view(5, 5, 5).transpose(0, 2)
    x = a.clone().requires_grad_()
    found = x[key]
    expected = a.numpy()[key if type(key[0]) is not int else (slice(key[0], key[0] + 1), *key[1:])]
    assert found.reshape(-1).tolist() == expected.reshape(-1).tolist()
    assert "Index" in type(found.grad_fn).__name__
    found.sum().backward()
    assert x.grad.sum() == found.numel()


def test_a_number_beyond_a_dimension_is_told_beside_a_list(torch):
    x = torch.zeros(2, 3)
    for key in ((2, [0]), ([0], 3), ([0, 1], 0, 0)):
        with pytest.raises(IndexError):
            x[key]
