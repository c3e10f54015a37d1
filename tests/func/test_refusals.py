"""What transforms of functions refuse, in which words; and modules made functions."""

from __future__ import annotations

import importlib

import pytest


def part(torch, name):
    if torch.__name__ == "torch":
        importlib.import_module(f"torch._functorch.{name}")
    return getattr(torch._functorch, name)


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
    }[kind]  # fmt: skip
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


def test_states_of_several_models(torch):
    linear, stack = torch.nn.Linear, torch.func.stack_module_state
    for models, text in (
        ([], "Expected at least one model, got 0."),
        ([linear(2, 2), linear(2, 2).eval()], "Expected all models to have the same training/eval mode."),
        ([linear(2, 2), torch.nn.ReLU()], "Expected all models to be of the same class."),
    ):
        assert said(lambda: stack(models)) == f"RuntimeError: stack_module_state: {text}"
    mixed = [linear(2, 2), linear(2, 2).requires_grad_(False)]
    assert said(lambda: stack(mixed)) == "RuntimeError: Expected weight from each model to have the same .requires_grad"
    params, buffers = stack([torch.nn.BatchNorm1d(2), torch.nn.BatchNorm1d(2)])
    assert all(p.requires_grad and p.is_leaf for p in params.values()) and buffers["running_mean"].shape == (2, 2)


def test_batch_norms_without_statistics(torch):
    nn, strip = torch.nn, part(torch, "batch_norm_replacement").batch_norm_without_running_stats
    instance = nn.InstanceNorm1d(2, track_running_stats=True)
    model = nn.Sequential(nn.BatchNorm1d(2),
        nn.Sequential(nn.BatchNorm2d(2, affine=False), instance, nn.BatchNorm1d(2, track_running_stats=False)))
    assert torch.func.replace_all_batch_norm_modules_(model) is model
    norms = [m for m in model.modules() if hasattr(m, "running_mean") and m is not instance]
    assert len(norms) == 3 and not any(m.track_running_stats or m.running_mean is not None for m in norms)
    assert instance.track_running_stats
    single, other = nn.BatchNorm1d(2), nn.Linear(1, 1)
    strip(single)
    strip(other)
    assert single.num_batches_tracked is None


def test_modules_taken_apart(torch, x):
    made = part(torch, "make_functional")

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = torch.nn.Parameter(x.clone())
            self.register_buffer("c", x + 1)

        def forward(self, q):
            return self.a * q + self.b + self.c

    call, params, buffers = made.make_functional_with_buffers(Tied())
    assert call.param_names == ("a",) and call.buffer_names == ("c",)
    assert call(params, buffers, x).tolist() == [4, 9, 16]
    assert call([torch.zeros(3)], [torch.ones(3)], x).tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="`model` has buffers. Please use make_functional_with_buffers"):
        made.make_functional(Tied())
    _, params = made.make_functional(torch.nn.Linear(2, 2), disable_autograd_tracking=True)
    assert not any(p.requires_grad for p in params)
    for shape, text in (((0,), "num_models 0 should be > 0"), ((1, 2), "NYI: ensemble_shape with more than 1 element")):
        assert said(lambda: made.functional_init(torch.nn.Linear, shape)(2, 2)) == f"ValueError: {text}"
    for models, text in (
        ([], "Expected at least one model, got 0."),
        ([torch.nn.Linear(2, 2), torch.nn.ReLU()], "Expected all models to be of the same class."),
    ):
        assert (said(lambda: made.combine_state_for_ensemble(models)) == "RuntimeError: combine_state_for_ensemble: "
            f"{text}")
