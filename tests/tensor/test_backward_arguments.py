"""What ``backward`` and ``grad`` take for outputs, inputs and gradients, and what they refuse."""

from __future__ import annotations

import collections
import types
import warnings

import pytest

from tests.makers import cases, ones_leaf, refuses, scalar_leaf


def edge(torch, t):
    return torch.autograd.graph.get_gradient_edge(t)


def test_a_dictionary_of_inputs(torch):
    x, y = ones_leaf(torch, 1), ones_leaf(torch, 1)
    (x * y * 2).backward(inputs={"only": x})
    assert x.grad.tolist() == [2.0] and y.grad is None
    torch.autograd.backward(x * 3, inputs={"edge": edge(torch, x)})
    assert x.grad.tolist() == [5.0]
    found = torch.autograd.grad(x * 2, {"x": x, 7: x})
    assert type(found) is dict and list(found) == ["x", 7] and found[7].tolist() == [2.0]
    found = torch.autograd.grad(x * 2, {"x": x, "y": y}, materialize_grads=True)
    assert found["y"].tolist() == [0.0]
    assert torch.autograd.grad(x * 2, {"y": y}, allow_unused=True) == {"y": None}
    with pytest.raises(RuntimeError, match="`inputs` argument to `grad\\(\\)` cannot be empty"):
        torch.autograd.grad(x * 2, {})
    with pytest.raises(RuntimeError, match="`inputs` argument to `backward\\(\\)` cannot be empty"):
        torch.autograd.backward(x * 2, inputs={})


@pytest.mark.parametrize("kind", [collections.OrderedDict, types.MappingProxyType], ids=["ordered", "proxy"])
def test_no_other_mapping_is_taken_for_inputs(torch, kind):
    x = ones_leaf(torch, 1)
    with pytest.raises(TypeError, match=f"`inputs` argument to `grad\\(\\)` must be a dict, not {kind.__name__}"):
        torch.autograd.grad(x * 2, kind({"x": x}))
    with pytest.raises(TypeError, match=f"`inputs` argument to `backward\\(\\)` must be a dict, not {kind.__name__}"):
        (x * 2).backward(inputs=kind({"x": x}))
    assert x.grad is None


def test_generators_everywhere(torch):
    x = ones_leaf(torch, 2)
    one = torch.ones(2)
    found = torch.autograd.grad((y for y in [x * 2]), (i for i in [x]), (g for g in [one]))
    assert found[0].tolist() == [2.0, 2.0]
    torch.autograd.backward((y for y in [x * 2]), (g for g in [one]), inputs=(i for i in [x]))
    assert x.grad.tolist() == [2.0, 2.0]
    torch.autograd.backward({x * 3}, [one])
    assert x.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("given", [[], ()], ids=["list", "tuple"])
def test_gradients_are_counted(torch, given):
    x = ones_leaf(torch, 1)
    with pytest.raises(RuntimeError, match="got 1 tensors and 0 gradients"):
        torch.autograd.backward([x * 2], given)
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.grad([x * 2, x * 3], x, [torch.ones(1)])


@pytest.mark.parametrize("wrong", [[3], "ab", [None], {"a": 1}], ids=["int", "str", "none", "dict"])
def test_outputs_are_tensors(torch, wrong):
    with pytest.raises(AssertionError, match="Expected output to be a torch.Tensor"):
        torch.autograd.backward(wrong)


def test_what_an_edge_expects_of_its_gradient(torch):
    x = ones_leaf(torch, 3)
    e = edge(torch, x * 2)
    for call in (lambda g: torch.autograd.grad(e, x, g), lambda g: torch.autograd.backward(e, g)):
        with pytest.raises(RuntimeError,
                match=r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[2\]\)"):
            call(torch.ones(2))
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
            call(None)
    with pytest.raises(RuntimeError, match="Batched grads are not supported with GradientEdge"):
        torch.autograd.grad(e, x, torch.ones(2, 4), is_grads_batched=True)
    z = torch.ones(1, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got torch.complex64"):
        torch.autograd.grad(edge(torch, z * 2), z)
    with pytest.raises(RuntimeError, match="both grad_output and output are required to have the same dtype"):
        torch.autograd.grad(edge(torch, z * 2), z, torch.ones(1))


@pytest.mark.parametrize("thing", [None, 3, "a"])
def test_edges_are_of_tensors(torch, thing):
    with pytest.raises(AttributeError, match="has no attribute 'requires_grad'"):
        edge(torch, thing)


def test_zeros_in_place_of_nothing_need_a_tensor(torch):
    x, y = ones_leaf(torch, 1), ones_leaf(torch, 1)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        torch.autograd.grad(x * 2, [x, edge(torch, y)], materialize_grads=True)


def test_a_batch_of_gradients_has_a_batch_for_every_output(torch):
    x = ones_leaf(torch, 3)
    one = torch.ones(2, 3)
    with pytest.raises(ValueError, match="Got in_dim=0 for some input, but that input is a Tensor of dimensionality 0"):
        torch.autograd.grad([x * 2, x.sum()], x, [one, None], is_grads_batched=True)
    with pytest.raises(ValueError, match="Got in_dim=0 for some input"):
        torch.autograd.grad(x.sum(), x, is_grads_batched=True)
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        torch.autograd.grad(x.sum(), x, torch.tensor(1.0), is_grads_batched=True)


def test_old_arguments_warn_at_the_line_of_the_caller(torch):
    x = ones_leaf(torch, 2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.autograd.backward(x * 2, grad_variables=torch.ones(2))
        torch.autograd.grad(x.sum(), x, only_inputs=False)
    assert [w.category for w in seen] == [FutureWarning] * 2 and {w.filename for w in seen} == {__file__}
    assert ("`grad_variables` is deprecated" in str(seen[0].message)
        and "only_inputs argument is deprecated" in str(seen[1].message))
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match=r"arguments both passed to `backward\(\)`"):
        torch.autograd.backward(x * 2, torch.ones(2), grad_variables=torch.ones(2))


def test_the_gradients_to_begin_with(torch):
    make, one = torch.autograd._make_grads, torch.ones(1)
    x = ones_leaf(torch, 1)
    (found,) = make([x * 2], [None], False)
    assert found.tolist() == [1.0] and found.dtype is torch.float32
    assert make([x * 2], [one], is_grads_batched=False)[0] is one
    assert make([torch.ones(3)], [None], False) == (None,)
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got int"):
        make([x * 2], [3], False)
    assert torch.autograd._tensor_or_tensors_to_tuple(None, 3) == (None, None, None)


def overriding(torch):
    """A subclass that answers ``grad`` and ``backward`` itself, and what it was asked."""
    calls = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in (torch.autograd.grad, torch.autograd.backward):
                calls.append((func.__name__, args, kwargs))
                return tuple(range(len(args[1]))) if len(args) > 1 else None
            return super().__torch_function__(func, types, args, kwargs)

    return torch.ones(2).as_subclass(Asked).requires_grad_(), calls


def test_overrides_are_asked_in_one_form(torch):
    x, calls = overriding(torch)
    y = x.sum()
    assert torch.autograd.grad(y, x) == (0,)
    assert torch.autograd.grad([y], {"a": x, "b": x}, None, True, materialize_grads=True) == {"a": 0, "b": 1}
    rest = {"grad_outputs": None, "create_graph": False, "only_inputs": True, "is_grads_batched": False}
    (_, args, kwargs), (_, more, options) = calls
    assert ([len(row) for row in args] == [1, 1] and args[0][0] is y and args[1][0] is x
        and type(args[0]) is type(args[1]) is tuple)
    assert kwargs == {**rest, "retain_graph": None, "allow_unused": False, "materialize_grads": False}
    assert ([len(row) for row in more] == [1, 2]
        and options == {**rest, "retain_graph": True, "allow_unused": True, "materialize_grads": True})


def test_overrides_of_backward_are_asked_for_outputs_and_inputs(torch):
    x, calls = overriding(torch)
    plain = torch.ones(2, requires_grad=True)
    torch.autograd.backward(x.sum())
    torch.autograd.backward([plain.sum()], inputs={"a": x}, retain_graph=True)
    (_, (outputs,), kwargs), (_, (others,), options) = calls
    assert (type(outputs) is tuple
        and kwargs == {"grad_tensors": None, "retain_graph": None, "create_graph": False, "inputs": None})
    assert (type(others) is tuple and type(others[0]) is torch.Tensor and options["inputs"][0] is x
        and options["retain_graph"] is True)
    assert plain.grad is None
    torch.autograd.grad(plain.sum(), plain, x.detach()[0])  # gradients are not asked
    assert len(calls) == 2


def test_a_gradient_that_nothing_is_done_with_is_the_one_that_was_given(torch):
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    g, wanted = torch.ones(2), torch.ones(2, requires_grad=True)
    with_history = wanted * 2
    for given in (g, wanted, with_history, torch.nn.Parameter(torch.ones(2))):
        for out in (a, a.clone(), a + 1, a - b, a.clone().add_(1)):
            (found,) = torch.autograd.grad(out, a, given)
            assert found is given
    assert all(found is g for found in torch.autograd.grad((a + b, b + 1), (a,), (g, g)))
    y = a + b
    assert all(found is wanted for found in torch.autograd.grad(y, (a, y, b), [wanted]))
    for made in (torch.autograd.grad(a * 2, a, g)[0], torch.autograd.grad(a.view(2), a, g)[0]):
        assert made is not g
    a.clone().backward(g)
    assert a.grad is not g and a.grad.data_ptr() != g.data_ptr()


def test_gradients_by_name(torch):
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    found = torch.autograd.grad(a * b, {"a": a, "b": b})
    assert type(found) is dict
    assert {k: g.item() for k, g in found.items()} == {"a": 3.0, "b": 2.0}
    (a * a * b).backward(inputs={"only": a})
    assert (a.grad.item(), b.grad) == (12.0, None)


def test_gradients_by_name_that_nothing_depends_on(torch):
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    found = torch.autograd.grad(a * 2, {"a": a, "b": b}, allow_unused=True)
    assert (found["a"].item(), found["b"]) == (2.0, None)
    assert torch.autograd.grad(a * 2, {"b": b}, materialize_grads=True)["b"].item() == 0.0


@cases([
    ("grad",
        lambda torch: torch.autograd.grad(scalar_leaf(torch) * 2, types.MappingProxyType({"a": scalar_leaf(torch)})),
        TypeError,
     "`inputs` argument to `grad()` must be a dict, not mappingproxy. Other Mapping types are not supported."),
    ("backward",
        lambda torch: (scalar_leaf(torch) * 2).backward(inputs=types.MappingProxyType({"a": scalar_leaf(torch)})),
        TypeError,
     "`inputs` argument to `backward()` must be a dict, not mappingproxy. Other Mapping types are not supported."),
    ("empty", lambda torch: torch.autograd.grad(scalar_leaf(torch) * 2, {}), RuntimeError,
        "`inputs` argument to `grad()` cannot be empty."),
])
def test_names_come_in_a_dictionary(torch, run, error, message):
    refuses(torch, run, error, message)
