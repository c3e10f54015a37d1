"""Nested tensors in files, in PyTorch's format; and that they carry no tangents."""

from __future__ import annotations

import importlib
import io
import pickle

import pytest


def loaded(torch, x, **options):
    # which PyTorch wants to read jagged tensors
    importlib.import_module("torch._dynamo") if torch.__name__ == "torch" else None
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    return torch.load(buffer, **options)


def parts(torch):
    return [torch.arange(2.0 * n).view(n, 2) for n in (1, 3, 2)]


@pytest.mark.parametrize("layout", ["strided", "jagged"])
@pytest.mark.parametrize("wants", [False, True])
def test_saved_and_loaded(torch, layout, wants):
    t = torch.nested.nested_tensor(parts(torch), layout=getattr(torch, layout), requires_grad=wants)
    for found in (loaded(torch, t), loaded(torch, {"a": [t]}, weights_only=False)["a"][0],
            pickle.loads(pickle.dumps(t))):
        assert found.is_nested and found.layout is t.layout and found.requires_grad is wants and type(found) is type(t)
        torch.testing.assert_close([p.detach() for p in found.unbind()], parts(torch))


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_parts_that_lie_across_memory(torch, layout):
    t = torch.nested.nested_tensor(parts(torch), layout=getattr(torch, layout)).transpose(1, 2)
    found = loaded(torch, t)
    torch.testing.assert_close(list(found.unbind()), [p.t() for p in parts(torch)])


def test_parts_with_holes_between_them(torch):
    t = torch.nested.nested_tensor_from_jagged(torch.arange(8.0), torch.tensor([0, 3, 8]), torch.tensor([2, 4]))
    assert [p.tolist() for p in loaded(torch, t).unbind()] == [[0.0, 1.0], [3.0, 4.0, 5.0, 6.0]]


def test_a_result_is_saved_as_its_numbers(torch):
    t = torch.nested.nested_tensor(parts(torch), layout=torch.jagged, requires_grad=True) * 2
    found = loaded(torch, t)
    assert found.requires_grad
    torch.testing.assert_close([p.detach() for p in found.unbind()], [2 * p for p in parts(torch)])


def test_no_tangents(torch):
    forward = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    t = torch.nested.nested_tensor(parts(torch), layout=torch.jagged)
    with forward.dual_level():
        with pytest.raises(NotImplementedError, match=r"aten.alias.default"):
            forward.make_dual(t, t.clone())
        rows = [forward.make_dual(p, torch.ones_like(p)) for p in parts(torch)]
        for layout in (torch.strided, torch.jagged):
            with pytest.raises(NotImplementedError,
                    match="Trying to use forward AD with _nested_.* that does not support it"):
                torch.nested.as_nested_tensor(rows, layout=layout)
        values = forward.make_dual(torch.arange(6.0), torch.ones(6))
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with _nested_view_from_jagged"):
            torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 6]))
