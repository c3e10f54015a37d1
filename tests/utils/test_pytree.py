"""Trees of containers: the same on PyTorch where its private module is there."""

from __future__ import annotations

import collections
import importlib

import pytest

Point = collections.namedtuple("Point", "x y")
TREE = {
    "a": [1, (2, None)],
    "b": Point(3, [4]),
    "c": collections.OrderedDict(z=5, y=6),
    "d": collections.deque([7, 8], maxlen=3),
    "e": collections.defaultdict(list, k=[9]),
    "f": [],
}


@pytest.fixture(params=["wengert", "torch"])
def pytree(request):
    if request.param == "torch":
        pytest.importorskip("torch")
    return importlib.import_module(f"{request.param}.utils._pytree")


def test_there_and_back(pytree):
    leaves, spec = pytree.tree_flatten(TREE)
    assert leaves == [1, 2, None, 3, 4, 5, 6, 7, 8, 9]
    assert spec.num_leaves == 10 and not spec.is_leaf()
    back = pytree.tree_unflatten(leaves, spec)
    assert back == TREE and type(back["b"]) is Point and back["d"].maxlen == 3 and back["e"].default_factory is list
    assert pytree.tree_structure(back) == spec
    assert pytree.tree_structure([1]) != pytree.tree_structure((1,))


def test_mapping(pytree):
    assert pytree.tree_map(lambda x, y: x + y, [1, {"k": 2}], [10, {"k": 20}]) == [11, {"k": 22}]
    assert pytree.tree_map_only(int, lambda x: -x, [1, "s", (2.0, 3)]) == [-1, "s", (2.0, -3)]
    assert pytree.tree_map(len, [[1, 2], [3]], is_leaf=lambda x: x != [[1, 2], [3]] and isinstance(x, list)) == [2, 1]
    assert pytree.tree_leaves(5) == [5]
    assert pytree.tree_all(bool, [1, (2,)]) and not pytree.tree_any(bool, [0, []])


def test_wrong_numbers_and_structures(pytree):
    with pytest.raises(ValueError, match="has length 1 but the spec refers to a pytree that holds 2"):
        pytree.tree_unflatten([1], pytree.tree_structure([0, 0]))
    with pytest.raises(ValueError):
        pytree.tree_map(lambda x, y: x, [1], [1, 2])


def test_own_containers():
    from wengert.utils import _pytree

    class Box:
        def __init__(self, value):
            self.value = value

    _pytree.register_pytree_node(Box, lambda b: ([b.value], None), lambda parts, _: Box(*parts))
    assert _pytree.tree_map(lambda x: x + 1, Box(1)).value == 2
    with pytest.raises(ValueError, match="already registered"):
        _pytree.register_pytree_node(Box, lambda b: ([b.value], None), lambda parts, _: Box(*parts))
