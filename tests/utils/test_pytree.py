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


@pytest.fixture
def pytree(torch):
    return importlib.import_module(f"{torch.__name__}.utils._pytree")


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


def test_paths(pytree):
    tree = {"a": [1, (2,)], "b": None}
    found, spec = pytree.tree_flatten_with_path(tree)
    assert (
        [(pytree.keystr(path), leaf) for path, leaf in found] == [("['a'][0]", 1), ("['a'][1][0]", 2), ("['b']", None)])
    assert spec == pytree.tree_structure(tree) and all(pytree.key_get(tree, path) is leaf for path, leaf in found)
    assert found[0][0] == (pytree.MappingKey("a"), pytree.SequenceKey(0))
    assert (
        pytree.tree_map_with_path(lambda path, x, y: (len(path), x + y), [1, [2]], [10, [20]]) == [(1, 11), [(2, 22)]])
    point = collections.namedtuple("point", "x y")
    assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(point(1, 2))] == [".x", ".y"]


def test_specifications_as_text(pytree):
    tree = {"a": [1, (2,)], "b": collections.OrderedDict(c=3), "d": collections.defaultdict(list, e=[4])}
    spec = pytree.tree_structure(tree)
    text = pytree.treespec_dumps(spec)
    assert (pytree.treespec_loads(text) == spec
        and pytree.tree_unflatten([1, 2, 3, 4], pytree.treespec_loads(text)) == tree)
    assert pytree.treespec_dumps(pytree.tree_structure([1])).startswith(
        '[1, {"type": "builtins.list", "context": "null", "children_spec": [{')


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def test_registered_containers(pytree):
    def flatten_with_keys(p):
        return [(pytree.GetAttrKey("a"), p.a), (pytree.GetAttrKey("b"), p.b)], None

    pytree.register_pytree_node(
        Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts), serialized_type_name="tests.Pair",
        flatten_with_keys_fn=flatten_with_keys
    )
    try:
        assert pytree.tree_leaves([Pair(1, [2])]) == [1, 2]
        assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(Pair(1, [2]))] == [".a", ".b[0]"]
        spec = pytree.tree_structure(Pair(1, 2))
        assert ("tests.Pair" in pytree.treespec_dumps(spec)
            and pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec)
        with pytest.raises(ValueError, match="already registered"):
            pytree.register_pytree_node(Pair, lambda p: ([], None), lambda parts, _: Pair(1, 2))
    finally:
        pytree._deregister_pytree_node(Pair)
    assert len(pytree.tree_leaves(Pair(1, 2))) == 1


def test_prefixes_and_choices(pytree):
    assert (pytree.tree_map(lambda x, y: (x, y), {"a": 1, "b": [2]}, {"b": [(3, 4)], "a": 5}) == {"a": (1, 5),
        "b": [(2, (3, 4))]})
    with pytest.raises(ValueError, match="Node type mismatch"):
        pytree.tree_map(lambda x, y: x, [1, 2], (1, 2))
    with pytest.raises(ValueError, match="Node keys mismatch"):
        pytree.tree_map(lambda x, y: x, {"a": 1}, {"b": 1})
    assert pytree._broadcast_to_and_flatten([1, 2], pytree.tree_structure([0, (0, 0)])) == [1, 2, 2]
    assert pytree._broadcast_to_and_flatten((1, 2), pytree.tree_structure([0, (0, 0)])) is None
    assert pytree.tree_map_only(int | float, lambda x: x + 1, [1, "a", (2.0,)]) == [2, "a", (3.0,)]
    assert pytree.tree_map_only(lambda x: x == 1, lambda x: x + 1, [1, 5]) == [2, 5]
    assert (pytree.tree_all_only(int, lambda x: x > 0, [1, "a"])
        and not pytree.tree_any_only(int, lambda x: x > 1, [1, "a"]))
    assert (pytree._dict_flatten({"b": 1}) == ([1], ["b"])
        and pytree._dict_flatten_with_keys({"b": 1}) == ([(pytree.MappingKey("b"), 1)], ["b"]))
