"""``torch.return_types``: the rows that functions with several results give."""

from __future__ import annotations

import copy
import pickle

import pytest


def test_names_and_places(torch):
    x = torch.tensor([[1.0, 3.0], [4.0, 2.0]])
    row = torch.max(x, 1)
    assert type(row) is torch.return_types.max and isinstance(row, tuple)
    assert row.values is row[0] and row.indices is row[1] and row.indices.tolist() == [1, 0]
    assert type(row).n_fields == type(row).n_sequence_fields == 2 and row.__match_args__ == ("values", "indices")
    assert not hasattr(row, "_fields") and not hasattr(row, "_asdict")
    assert type(row[:1]) is tuple and len(row + (1,)) == 3
    with pytest.raises(AttributeError):
        row.values = x
    with pytest.raises(AttributeError):
        row.other = x
    assert repr(torch.return_types.max((1, 2))) == "torch.return_types.max(\nvalues=1,\nindices=2)"


def test_made_from_one_sequence(torch):
    assert torch.return_types.max([1, 2]) == (1, 2) == torch.return_types.max(sequence=(1, 2))
    for wrong, message in (([1], "takes a 2-sequence (1-sequence given)"), (5, "constructor requires a sequence")):
        with pytest.raises(TypeError, match=message.replace("(", r"\(").replace(")", r"\)")):
            torch.return_types.max(wrong)
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Further", (torch.return_types.max,), {})


def test_copies(torch):
    row = torch.sort(torch.tensor([2.0, 1.0]))
    for again in (copy.copy(row), copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
        assert type(again) is type(row) and again.values.tolist() == [1, 2]


def test_given_where_results_go(torch):
    x = torch.tensor([[1.0, 3.0], [4.0, 2.0]])

    def empty(*dtypes):
        return tuple(torch.empty(0, dtype=dtype) for dtype in dtypes)

    f, i = torch.float32, torch.int64
    calls = {
        "max": (torch.max, (x, 1), (f, i)), "min": (torch.min, (x, 1), (f, i)),
        "median": (torch.median, (x, 1), (f, i)), "sort": (torch.sort, (x,), (f, i)),
        "kthvalue": (torch.kthvalue, (x, 1), (f, i)), "topk": (torch.topk, (x, 1), (f, i)),
        "mode": (torch.mode, (x, 1), (f, i)), "cummax": (torch.cummax, (x, 1), (f, i)),
        "aminmax": (torch.aminmax, (x,), (f, f)), "linalg_eigh": (torch.linalg.eigh, (x @ x.T,), (f, f)),
        "linalg_svd": (torch.linalg.svd, (x,), (f, f, f)), "linalg_qr": (torch.linalg.qr, (x,), (f, f)),
        "svd": (torch.svd, (x,), (f, f, f)), "slogdet": (torch.slogdet, (x,), (f, f)),
        "linalg_slogdet": (torch.linalg.slogdet, (x,), (f, f)), "qr": (torch.qr, (x,), (f, f)),
    }
    for name, (function, args, dtypes) in calls.items():
        out = empty(*dtypes)
        row = function(*args, out=out)
        assert type(row) is getattr(torch.return_types, f"{name}_out"), name
        assert all(a is b for a, b in zip(row, out)), name
        assert (row.__match_args__ == getattr(torch.return_types,
            name).__match_args__ == type(function(*args)).__match_args__), name


def test_all_of_them(torch):
    names = [kind.__name__ for kind in torch.return_types.all_return_types]
    assert {"max", "max_out", "linalg_lstsq", "histogramdd", "lu_unpack", "triangular_solve_out"} <= set(names)
    assert "std_mean" not in names and "unique" not in names
    assert type(torch.std_mean(torch.ones(2))) is tuple and type(torch.unique(torch.ones(2), True, True)) is tuple


def test_trees_see_rows(torch):
    import importlib

    pytree = importlib.import_module(f"{torch.__name__}.utils._pytree")
    row = torch.max(torch.ones(2, 2), 0)
    leaves, spec = pytree.tree_flatten(row)
    assert len(leaves) == 2 and type(pytree.tree_unflatten(leaves, spec)) is torch.return_types.max
    assert type(torch.func.vmap(lambda x: x.max(0))(torch.ones(2, 3))) is torch.return_types.max
