"""Transforms of functions of nested containers; parts of batches and of Jacobians; what the new
functions are called.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest


class Couple:
    def __init__(self, a, b):
        self.a, self.b = a, b


Named = namedtuple("Named", ["a", "b"])


@pytest.fixture
def couples(torch):
    trees = importlib.import_module(f"{torch.__name__}.utils._pytree")
    trees.register_pytree_node(Couple, lambda n: ([n.a, n.b], None), lambda parts, context: Couple(*parts))
    yield Couple
    trees._deregister_pytree_node(Couple)


@pytest.fixture
def x(torch):
    return torch.tensor([1.0, 2.0, 3.0])


@pytest.fixture
def y(torch):
    return torch.tensor([4.0, 5.0, 6.0])


def parts_of(torch, name):
    if torch.__name__ == "torch":
        importlib.import_module(f"torch._functorch.{name}")
    return getattr(torch._functorch, name)


def row(t):
    return t.tolist()


def test_registered_containers(torch, couples, x, y):
    f = torch.func
    found = f.grad(lambda n: (n.a * n.b).sum())(Couple(x, y))
    assert type(found) is Couple and row(found.a) == row(y) and row(found.b) == row(x)
    out, pull = f.vjp(lambda n: Couple(n.a * 2, n.b * 3), Couple(x, y))
    (found,) = pull(Couple(y, x))
    assert row(out.b) == [12, 15, 18] and row(found.a) == [8, 10, 12] and row(found.b) == [3, 6, 9]
    out, pushed = f.jvp(lambda n: Couple(n.a * 2, n.b * 3), (Couple(x, y),), (Couple(y, x),))
    assert row(out.a) == [2, 4, 6] and row(pushed.b) == [3, 6, 9]
    out, push = f.linearize(lambda n: Couple(n.a * 2, n.b * 3), Couple(x, y))
    assert row(push(Couple(y, x)).a) == [8, 10, 12]
    for jacobian in (f.jacrev, f.jacfwd):
        found = jacobian(lambda n: Couple(n.a * 2, n.b * 3))(Couple(x, y))
        assert row(found.a.a) == [[2, 0, 0], [0, 2, 0], [0, 0, 2]] and row(found.b.a) == [[0] * 3] * 3
    found = f.hessian(lambda n: (n.a * n.b).sum())(Couple(x, y))
    assert row(found.a.b) == row(found.b.a) == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_maps_of_registered_containers(torch, couples, x, y):
    out = torch.vmap(lambda n: Couple(n.a * 2, n.b))(Couple(x, y))
    assert type(out) is Couple and row(out.a) == [2, 4, 6]
    assert row(torch.vmap(lambda n: n.a + n.b, in_dims=(Couple(0, None),))(Couple(x, torch.tensor(1.0)))) == [2, 3, 4]
    out = torch.vmap(lambda a: Couple(a, a * torch.ones(2)), out_dims=Couple(0, 1))(x)
    assert row(out.b) == [[1, 2, 3], [1, 2, 3]]
    assert row(torch.vmap(lambda n: Couple(n.a, n.a), chunk_size=2)(Couple(x, y)).b) == row(x)


def test_containers_of_python(torch, x):
    grad = torch.func.grad
    found = grad(lambda d: (d["a"] ** 2).sum())(defaultdict(list, a=x))
    assert type(found) is defaultdict and found.default_factory is list and row(found["a"]) == [2, 4, 6]
    found = grad(lambda d: (d["a"] ** 2).sum())(OrderedDict(a=x))
    assert type(found) is OrderedDict and row(found["a"]) == [2, 4, 6]
    found = grad(lambda d: (d[0] ** 2).sum())(deque([x], maxlen=2))
    assert type(found) is deque and found.maxlen == 2 and row(found[0]) == [2, 4, 6]
    found = torch.vmap(lambda a: Named(a, deque([a])))(x)
    assert type(found) is Named and row(found.b[0]) == row(x)
    assert row(torch.vmap(lambda a, size: a * size[0], in_dims=(0, None))(x, torch.Size([2]))) == [2, 4, 6]


def test_classes_of_ones_own_are_no_containers(torch, x):
    class Own(dict):
        pass

    with pytest.raises(ValueError, match="Thing passed to transform API must be Tensor, got <class '.*Own'>"):
        torch.func.grad(lambda d: d["a"].sum())(Own(a=x))
    with pytest.raises(ValueError, match="Got in_dim=0 for an input but the input is of type <class '.*Own'>"):
        torch.vmap(lambda d: d["a"])(Own(a=x))
    assert row(torch.vmap(lambda d, a: d["k"] * a, in_dims=(None, 0))(Own(k=2.0), x)) == [2, 4, 6]


def test_the_order_of_keys(torch, x, y):
    f = torch.func
    both = {"a": x, "b": y}
    assert row(torch.vmap(lambda d: d["a"] + d["b"], in_dims=({"b": 0, "a": 0},))(both)) == [5, 7, 9]
    _, pull = f.vjp(lambda d: {"a": d["a"], "b": d["b"]}, both)
    with pytest.raises(RuntimeError, match="cotangents: {'b': [*], 'a': [*]}, primal output: {'a': [*], 'b': [*]}"):
        pull({"b": x, "a": y})
    with pytest.raises(RuntimeError, match="Expected primals and tangents to have the same python structure") as caught:
        f.jvp(lambda d: d["a"], (both,), ({"b": x, "a": y},))
    assert "TreeSpec(dict, ['a', 'b']" in str(caught.value) and "TreeSpec(dict, ['b', 'a']" in str(caught.value)


def test_structures_in_refusals(torch, x, y):
    f = torch.func
    for call, text in (
        (lambda: torch.vmap(torch.sin, in_dims=(0, 0))(x),
            "in_dims has structure TreeSpec(tuple, None, [*,\n  *]) but inputs has structure"),
        (lambda: torch.vmap(torch.sin, out_dims=(0, 0))(x), "but outputs has structure *."),
        (lambda: f.jvp(torch.sin, (x,), [x]), "tangents with structure TreeSpec(list, None, [*])"),
        (lambda: f.linearize(torch.mul, x, y)[1](x),
            "Expected the tangents TreeSpec(tuple, None, [*]) to have the same argspec"),
        (lambda: f.vjp(lambda a: (a, a), x)[1]([x, x]), "cotangents: [*, *], primal output: (*, *)"),
        (lambda: f.grad(lambda a: a.sum(), argnums=(0, -1))(x), "argnums elements must be unique, got (0, 0)"),
    ):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            call()
        assert text in str(caught.value)


def test_tangents_of_another_device(torch, x):
    _, push = torch.func.linearize(torch.sin, x)
    with pytest.raises(RuntimeError,
            match="tangent:0 with device meta in flattened pytree doesn't match the device cpu"):
        push(x.to("meta"))


@pytest.mark.parametrize("size", [None, 1, 2, 3, 4, 100])
@pytest.mark.parametrize("preallocate", [False, True])
def test_jacobians_in_parts(torch, x, size, preallocate):
    square, total = torch.func.jacrev(lambda a: (a**2, a.sum()), chunk_size=size, _preallocate_and_copy=preallocate)(x)
    assert row(square) == [[2, 0, 0], [0, 4, 0], [0, 0, 6]] and row(total) == [1, 1, 1]


def test_jacobians_row_by_row_may_look_at_numbers(torch, x):
    class Looks(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a):
            return a * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2 if g.sum().item() else g

    assert row(torch.func.jacrev(Looks.apply, chunk_size=1)(x)) == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    with pytest.raises(RuntimeError, match=r"calling .item\(\) on a Tensor"):
        torch.func.jacrev(Looks.apply, chunk_size=2)(x)


def test_random_numbers_of_parts(torch):
    def drawn(a):
        return a + torch.rand(())

    zeros = torch.zeros(5)
    assert torch.vmap(drawn, chunk_size=2, randomness="same")(zeros).unique().numel() == 1
    assert torch.vmap(drawn, chunk_size=2, randomness="different")(zeros).unique().numel() == 5


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_maps_in_so_many_parts(torch, count):
    chunk_vmap = parts_of(torch, "apis").chunk_vmap
    product, total = chunk_vmap(lambda a, b: (a * b, a.sum()), in_dims=(0, None), chunks=count)(torch.arange(5.0),
        torch.tensor(2.0))
    assert row(product) == [0, 2, 4, 6, 8] and row(total) == [0, 1, 2, 3, 4]
    wide = chunk_vmap(torch.mul, in_dims=(1, 0), out_dims=1, chunks=count)(torch.ones(2, 5), torch.arange(5.0))
    assert row(wide) == [[0, 1, 2, 3, 4]] * 2


def test_maps_in_parts_refuse(torch, x):
    chunk_vmap = parts_of(torch, "apis").chunk_vmap
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        chunk_vmap(torch.sin, randomness="some")
    with pytest.raises(ValueError, match="`out_dims` must be an int, None or a python collection of ints"):
        chunk_vmap(torch.sin, out_dims="a")(x)
    with pytest.raises(ValueError, match="expected `in_dims` to be int or a"):
        chunk_vmap(torch.sin, in_dims="a")(x)
    for count in (0, -1):
        with pytest.raises(RuntimeError, match=f"chunk expects `chunks` to be greater than 0, got: {count}"):
            chunk_vmap(torch.sin, chunks=count)(x)


def test_names_of_new_functions(torch, x):
    f = torch.func

    def own(a, *, k=1):
        "Says something."
        return a.sum() * k

    own.note = 3

    class Callable:
        def __call__(self, a):
            return a.sum()

    partly = functools.partial(lambda a, b: a.sum() * b, b=2)
    for transform in (torch.vmap, f.grad, f.grad_and_value, f.jacrev, f.jacfwd, f.functionalize):
        made = transform(own)
        assert (made.__name__, made.__doc__, made.__wrapped__, made.note) == ("own", "Says something.", own, 3)
        assert str(inspect.signature(made)) == "(a, *, k=1)"
        for other in (partly, Callable()):
            made = transform(other)
            assert made.__wrapped__ is other and made.__name__.startswith("wrap") and made(x) is not None


def test_states_from_several_dicts(torch):
    layer = torch.nn.Linear(3, 2)
    weight, bias = {"weight": torch.zeros(2, 3)}, {"bias": torch.ones(2)}
    for given in ((weight, bias), [weight, bias]):
        assert row(torch.func.functional_call(layer, given, torch.ones(3))) == [1, 1]
    with pytest.raises(ValueError, match="Expected all elements of parameter_and_buffer_dicts to be dictionaries"):
        torch.func.functional_call(layer, "ab", torch.ones(3))
    with pytest.raises(ValueError, match=r"\['a', 'b'\] appeared in multiple dictionaries"):
        torch.func.functional_call(layer, ({"a": 1, "b": 2}, {"b": 1}, {"a": 3}), torch.ones(3))


@pytest.mark.parametrize(
    "name",
    ["vmap", "grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "functionalize", "make_functional",
             "make_functional_with_buffers", "combine_state_for_ensemble"],
)
def test_names_of_old(torch, x, name):
    old = getattr(parts_of(torch, "deprecated"), name)
    model = torch.nn.Linear(2, 2)
    arguments = {"make_functional": (model,), "make_functional_with_buffers": (model,),
        "combine_state_for_ensemble": ([model],)}.get(name)
    if arguments is None:
        arguments = (torch.sum, *{"vjp": (x,), "jvp": ((x,), (x,))}.get(name, ()))
    instead = {"vmap": r"torch\.vmap", "combine_state_for_ensemble": "stack_module_state"}.get(name,
        "functional_call" if "make" in name else name)
    with pytest.warns(FutureWarning,
            match=f"`functorch.{name}` is deprecated as of PyTorch 2.0 .*Please use `.*{instead}` instead"):
        assert old(*arguments) is not None
    assert old.__name__ == name and "deprecated" in old.__doc__


def test_modules_taken_apart_keep_no_numbers(torch):
    make = parts_of(torch, "make_functional").make_functional_with_buffers
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    net.append(net[0])
    call, params, buffers = make(torch.nn.Sequential(net[0], net[1]))
    assert all(t.is_meta for t in (*call.stateless_model.parameters(), *call.stateless_model.buffers()))
    assert not any(t.is_meta for t in (*params, *buffers))
    assert call(params, buffers, torch.ones(4, 2)).shape == (4, 3)
