"""torch.utils.weak: tensors held weakly, and known by identity."""

from __future__ import annotations

import copy
import gc
import importlib
import weakref

import pytest


@pytest.fixture
def weak(torch):
    return importlib.import_module(f"{torch.__name__}.utils.weak")


def test_keys_are_told_apart_by_identity(torch, weak):
    a, b = torch.ones(2), torch.ones(2)
    d = weak.WeakTensorKeyDictionary({a: 1})
    d[b] = 2
    assert len(d) == 2 and (d[a], d[b]) == (1, 2) and a in d and torch.ones(2) not in d and 3 not in d
    assert sorted(d.values()) == [1, 2] and any(k is a for k in d) and d.get(torch.ones(2)) is None
    assert d.copy() == d and copy.deepcopy(d) == d and (d | {a: 9})[a] == 9 and d.copy() is not d
    assert d.pop(b) == 2 and d.setdefault(b, 7) == 7 and len(d.keyrefs()) == 2
    with pytest.raises(KeyError):
        d[torch.ones(2)]
    del a
    gc.collect()
    assert len(d) == 1 and list(d.values()) == [7]
    with pytest.raises(TypeError):
        d[3] = 4


def test_values_that_hold_the_dictionary_do_not_keep_keys(torch, weak):
    d = weak.WeakIdKeyDictionary()
    x = torch.ones(1)
    d[x] = d
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None and len(d) == 0


def test_references(torch, weak):
    a, b = torch.ones(2), torch.ones(2)
    assert weak.WeakIdRef(a) == weak.WeakIdRef(a) and not weak.WeakIdRef(a) == weak.WeakIdRef(b)  # noqa: SIM201
    assert hash(weak.WeakIdRef(a)) == id(a) and weak.WeakIdRef(a)() is a
    reference = weak.TensorWeakRef(a)
    assert reference() is a
    del a
    gc.collect()
    assert reference() is None
    with pytest.raises(AssertionError):
        weak.TensorWeakRef(3)
