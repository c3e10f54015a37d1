"""What transforms of functions refuse, in which words."""

from __future__ import annotations

import warnings

import pytest


def said(call):
    with pytest.raises(Exception) as caught:
        call()
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.fixture
def x(torch):
    return torch.tensor([1.0, 2.0, 3.0])


def test_aux(torch, x):
    f = torch.func
    transforms = {
        "grad_and_value(f)(*args)": lambda g: f.grad(g, has_aux=True)(x),
        "vjp(f, *primals)": lambda g: f.vjp(g, x, has_aux=True),
        "jvp(f, primals, tangents)": lambda g: f.jvp(g, (x,), (x,), has_aux=True),
    }
    for name, transform in transforms.items():
        for wrong in (lambda a: a.sum(), lambda a: (a.sum(),), lambda a: [a.sum(), a], lambda a: (a.sum(), a, a)):
            assert (said(lambda: transform(wrong)) == f"RuntimeError: {name}: output of function f should be a tuple: "
                "(output, aux) if has_aux is True")
        for aux in (3, None, "text"):
            text = said(lambda: transform(lambda a: (a.sum(), aux)))
            assert text == f"RuntimeError: Expected tensors, got unsupported type {type(aux)}"
        assert transform(lambda a: (a.sum(), {"k": [a * 2, ()]}))[-1]["k"][0].tolist() == [2, 4, 6]


@pytest.mark.parametrize("kind", ["vjp", "jvp", "jacrev", "jacfwd"])
def test_results_that_have_no_derivatives(torch, x, kind):
    f = torch.func
    run = {
        "vjp": lambda g: f.vjp(g, x), "jvp": lambda g: f.jvp(g, (x,), (x,)), "jacrev": lambda g: f.jacrev(g)(x),
        "jacfwd": lambda g: f.jacfwd(g)(x)
    }[kind]
    api = "vjp(f, *primals)" if kind in ("vjp", "jacrev") else "jvp(f, primals, tangents)"
    for nothing, shown in ((None, "[None]"), ((), "[]"), ([], "[]")):
        expected = f"RuntimeError: {api}: Expected f to be a function that has non-empty output (got output = {shown})"
        assert said(lambda: run(lambda a: nothing)) == expected
    for wrong in (3, "text", None):
        text = said(lambda: run(lambda a: (a, wrong)))
        assert (text == f"RuntimeError: {api}: expected f(*primals) to return only tensors, got unsupported type "
            f"{type(wrong)}")
    if kind in ("vjp", "jacrev"):
        assert said(lambda: run(lambda a: a.int())).endswith(
            "must be floating-point or complex Tensors, got Tensor with dtype torch.int32")


def test_primals_and_tangents(torch, x):
    def push(primals, tangents):
        return said(lambda: torch.func.jvp(lambda *a: a[0] * 2, primals, tangents))

    api = "RuntimeError: jvp(f, primals, tangents): "
    for primals in (x, [x]):
        assert (push(primals, primals) == api + "Expected primals to be a tuple. E.g. it should be valid to call "
            "f(*primals).")
    assert push((), ()) == api + "Expected primals to contain at least one Tensor."
    for wrong in (3, None):
        assert push((wrong,), (wrong,)) == api + f"Expected primals to only contain Tensors, got {type(wrong)}"
        assert push((x,), (wrong,)).startswith(api + f"Expected tangents to only contain Tensors, got {type(wrong)}")
    assert "different size than that of the original Tensor" in push((x,), (x[:2],))
    assert push((x.int(),), (x,)) == "ValueError: Expected primal to be floating point or complex, but got: torch.int32"
    assert (push((x,), (x.int(),)) == "ValueError: Expected tangent to be floating point or complex, but got: "
        "torch.int32")
    for independent in (lambda a: torch.ones(2), lambda a: (a, torch.ones(2)), lambda a: a.detach()):
        assert ("The output of f is independent of the inputs"
            in said(lambda: torch.func.jvp(independent, (x,), (x,), strict=True)))


def test_cotangents(torch, x):
    _, pull = torch.func.vjp(lambda a: (a * 2, a.sum()), x)
    assert said(lambda: pull((x, 3))) == "TypeError: gradients can be either Tensors or None, but got int"
    assert said(lambda: pull((None, None))) == "RuntimeError: grad can be implicitly created only for scalar outputs"
    assert said(lambda: pull((x[:2], x.sum()))).startswith("RuntimeError: Mismatch in shape: grad_output[0]")
    assert pull((x, None))[0].tolist() == [3, 5, 7]
    _, pull = torch.func.vjp(torch.sin, x)
    pull(x, retain_graph=False)
    assert said(lambda: pull(x)).startswith("RuntimeError: Trying to backward through the graph a second time")


def test_arguments_of_gradients(torch, x):
    grad = torch.func.grad
    for numbers, text in (
        (1, "Got argnum=1, but only 1 positional inputs"),
        (-2, "Got argnum=-2, but only 1 positional inputs"),
        ((1,), "Got argnum=1, but only 1 positional inputs"),
        ((), "argnums must be non-empty"),
        ((0, 0), "argnums elements must be unique, got (0, 0)"),
        ((0, "a"), "argnum must be int, got: <class 'str'>"),
        ([0], "argnums must be int or Tuple[int, ...], got: <class 'list'>"),
        (None, "argnums must be int or Tuple[int, ...], got: <class 'NoneType'>"),
    ):
        for transform in (grad, torch.func.grad_and_value, torch.func.jacrev,
                *([torch.func.jacfwd] if numbers is not None else [])):
            assert said(lambda: transform(lambda a: a.sum(), argnums=numbers)(x)) == f"RuntimeError: {text}"
    assert (said(lambda: grad(lambda a: a.sum())(3.0)) == "ValueError: Thing passed to transform API must be Tensor, "
        "got <class 'float'>")
    assert (said(lambda: grad(lambda a: a.sum())(torch.tensor([1]))) == "RuntimeError: only Tensors of floating point "
        "dtype can require gradients")
    assert said(lambda: grad(lambda a: [a.sum()])(x)).endswith(
        "Expected f(*args) to return a Tensor, got <class 'list'>")
    assert "scalar Tensor, got tensor with 1 dims" in said(lambda: grad(lambda a: a)(x))
    assert "only for real scalar outputs but got torch.complex64" in said(lambda: grad(lambda a: a.sum())(x + 1j))
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        api = jacobian.__name__
        assert said(lambda: jacobian(torch.real)(x + 1j)) == (
            f"RuntimeError: {api}: Expected all inputs to be real but received complex tensor at flattened input idx: 0"
        )
        assert said(lambda: jacobian(lambda a: a + 1j)(x)) == (
            f"RuntimeError: {api}: Expected all outputs to be real but received complex tensor at flattened input idx: "
            "0"
        )
    for size in (0, -1):
        assert (said(lambda: torch.func.jacrev(torch.sin, chunk_size=size)) == "ValueError: jacrev: `chunk_size` "
            "should be greater than 0.")
    assert "Only allowed values for randomness" in said(lambda: torch.func.jacfwd(torch.sin, randomness="some")(x))


def test_all_arguments(torch, x):
    first, second = torch.func.jacfwd(lambda a, b: (a * b).sum(), argnums=None)(x, x + 1)
    assert first.tolist() == [2, 3, 4] and second.tolist() == [1, 2, 3]
    ((by_first,), aux) = torch.func.jacfwd(lambda a: (a.sum(), a), None, True)(x)
    assert by_first.tolist() == [1, 1, 1] and aux.tolist() == x.tolist()


def test_removing_mutations(torch, x):
    def write(a, b=None, s="x"):
        b.add_(1)
        return {"r": a * b, "s": s}

    kept = x.clone()
    assert torch.func.functionalize(write)(x, b=kept)["r"].tolist() == [2, 6, 12] and kept.tolist() == [2, 3, 4]
    assert "received invalid argument for remove=x" in said(lambda: torch.func.functionalize(torch.sin, remove="x"))


def test_tangents_of_another_structure(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, push = torch.func.linearize(lambda x: x * 2, torch.ones(2))
    with pytest.raises(RuntimeError,
            match=r"Expected the tangents TreeSpec\(tuple, None, \[\*,\s+\*\]\) to have the same argspec"):
        push(torch.ones(2), torch.ones(2))


def test_cotangents_that_do_not_fit(torch):
    _, pull = torch.func.vjp(lambda x: x * 2, torch.ones(3))
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got float"):
        pull(1.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        pull(None)
    _, pull = torch.func.vjp(lambda x: (x, {"a": x}), torch.ones(3))
    text = r"Expected pytree structure of cotangents .* cotangents: \(\*,\), primal output: \(\*, "
    with pytest.raises(RuntimeError, match=text):
        pull((torch.ones(3),))
