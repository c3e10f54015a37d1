"""Subclasses of Tensor, tensor-likes, and what ``__torch_function__`` sees."""

from __future__ import annotations

import copy
import importlib
import subprocess
import sys

import pytest

import wengert


def subclass(torch, name="S", **members):
    return type(name, (torch.Tensor,), members)


def recorder(torch):
    """A subclass, and the list of what its ``__torch_function__`` was asked: (function, its name,
    number of arguments).
    """
    seen = []

    class Recorder(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, func.__name__, len(args), sorted(kwargs or {})))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Recorder, seen


EXPRESSIONS = [
    "x + 1", "1 + x", "2 - x", "x / 2", "1 / x", "x ** 2", "x @ x", "-x", "abs(x)", "x == x", "x < 2",
    "torch.add(x, x, alpha=2)", "x.sum(0)", "torch.sum(x, dim=1, keepdim=True)", "torch.mean(x, 0)", "x.var()",
    "torch.cat([x, x])", "x.view(-1)", "x.T", "x.permute(1, 0)", "x[0]", "x[x > 1]", "x.detach()", "x.clone()",
    "x.to(torch.float64)", "x.double()", "x.requires_grad_()", "x.add_(2)", "x.fill_(2)", "x.data",
    "torch.zeros_like(x)", "torch.softmax(x, 0)", "torch.nn.functional.softmax(x, 0)", "torch.nn.functional.relu(x)",
    "x.norm()", "torch.nn.functional.linear(x, x)", "torch.nn.functional.mse_loss(x, x)", "torch.where(x > 1, x, x)",
    "torch.einsum('ij,jk->ik', x, x)", "torch.linalg.norm(x)", "torch.nn.functional.dropout(x, 0.5)", "x.new_zeros(2)",
    "torch.diag(x)", "x.cpu()", "x.contiguous()", "torch.max(x)", "x.argmax()", "x.masked_fill(x > 1, 0)",
    "torch.stack([x, x], 0)", "torch.nn.functional.pad(x, (1, 1))", "x.flatten()",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_results_keep_the_class(torch, expression):
    cls = subclass(torch)
    x = torch.arange(1.0, 5.0).view(2, 2).as_subclass(cls)
    assert type(eval(expression, {"x": x, "torch": torch})) is cls


@pytest.mark.parametrize("expression",
    ["x.max(1)", "x.split(1)", "x.unbind()", "torch.linalg.svd(x)", "torch.var_mean(x)", "list(x)"])
def test_several_results_keep_the_class(torch, expression):
    cls = subclass(torch)
    x = torch.arange(1.0, 5.0).view(2, 2).as_subclass(cls)
    row = eval(expression, {"x": x, "torch": torch, "list": list})
    assert [type(t) for t in row] == [cls] * len(row)


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("x + 1", ["add"]),
        ("2 - x", ["__rsub__"]),
        ("1 / x", ["__rdiv__"]),
        ("x ** 2", ["pow"]),
        ("x == x", ["__eq__"]),
        ("x < 2", ["lt"]),
        ("x.sum(0)", ["sum"]),
        ("torch.sum(x, 1)", ["sum"]),
        ("torch.max(x)", ["max"]),
        ("x.median()", ["median"]),
        ("x.chunk(2)", ["chunk"]),
        ("x.flatten()", ["flatten"]),
        ("x.to(torch.float64)", ["to"]),
        ("x[0]", ["__getitem__"]),
        ("x.__setitem__(0, 5.0)", ["__setitem__"]),
        ("x.shape", ["__get__"]),
        ("x.grad", ["__get__"]),
        ("x.size(0)", ["size"]),
        ("len(x)", ["__len__"]),
        ("repr(x)", ["__repr__"]),
        ("x.tolist()", ["tolist"]),
        ("torch.nn.functional.cross_entropy(x, torch.tensor([0, 1]))", ["cross_entropy"]),
        ("torch.nn.functional.layer_norm(x, (2,))", ["layer_norm"]),
        ("torch.meshgrid(x, indexing='ij')", ["meshgrid"]),
        ("x.requires_grad_().sum().backward()", ["requires_grad_", "sum", "backward"]),
    ],
)
def test_public_names_are_asked(torch, expression, names):
    cls, seen = recorder(torch)
    x = torch.arange(1.0, 5.0).view(2, 2).as_subclass(cls)
    x = x.view(4) if "meshgrid" in expression else x
    seen.clear()
    eval(expression, {"x": x, "torch": torch})
    assert [row[1] for row in seen] == names


def test_functions_are_told_by_identity(torch):
    cls, seen = recorder(torch)
    x = torch.ones(2, 2).as_subclass(cls)
    for call, func in [
        (lambda: torch.sum(x), torch.sum),
        (lambda: x.sum(), torch.Tensor.sum),
        (lambda: x + x, torch.Tensor.add),
        (lambda: torch.mul(x, x), torch.mul),
        (lambda: torch.nn.functional.relu(x), torch.nn.functional.relu),
        (lambda: x.shape, torch.Tensor.shape.__get__),
        (lambda: setattr(x, "requires_grad", False), torch.Tensor.requires_grad.__set__),
        (lambda: torch.linalg.det(x), torch.linalg.det),
        (lambda: torch.zeros_like(x), torch.zeros_like),
    ]:
        seen.clear()
        call()
        assert seen[0][0] == func


def test_keyword_arguments_arrive(torch):
    cls, seen = recorder(torch)
    x = torch.ones(2, 2).as_subclass(cls)
    torch.sum(x, dim=1, keepdim=True)
    torch.add(x, x, alpha=2)
    assert [(row[2], row[3]) for row in seen] == [(1, ["dim", "keepdim"]), (2, ["alpha"])]


def test_subclasses_come_before_their_bases(torch):
    seen = []

    class A(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((cls, types))
            return super().__torch_function__(func, types, args, kwargs or {})

    class B(A):
        pass

    a, b = torch.ones(1).as_subclass(A), torch.ones(1).as_subclass(B)
    assert type(a + b) is B and type(b + a) is B
    assert [(cls, tuple(types)) for cls, types in seen] == [(B, (B, A))] * 2


def test_unrelated_subclasses(torch):
    a, b = torch.ones(1).as_subclass(subclass(torch, "A")), torch.ones(1).as_subclass(subclass(torch, "B"))
    with pytest.raises(TypeError, match="unsupported operand type"):
        a + b
    with pytest.raises(TypeError,
            match="Multiple dispatch failed for 'torch.add'; all __torch_function__ handlers returned NotImplemented"):
        torch.add(a, b)


def test_tensor_likes(torch):
    handled = {}

    class Scalar:
        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(t, (torch.Tensor, cls)) for t in types):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    handled[torch.mean] = lambda input, dim=None: float(input.value)
    handled[torch.sum] = lambda input, dim=None, keepdim=False: (dim, keepdim)
    handled[torch.add] = lambda a, b: "added"
    handled[torch.nn.functional.relu] = lambda input, inplace=False: "relu"
    x = Scalar(3)
    assert (torch.mean(x) == 3.0 and torch.sum(x, dim=1, keepdim=True) == (1, True)
        and torch.add(x, 2) == torch.add(torch.ones(1), x) == "added")
    assert torch.nn.functional.relu(x) == "relu"
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.mul'"):
        torch.mul(x, 2)

    class Any_:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    assert (torch.ones(1) + Any_() == "add" and torch.ones(1) @ Any_() == "matmul"
        and torch.cat([torch.ones(1), Any_()]) == "cat")


def test_pairs_with_metadata(torch):
    class Meta:
        def __init__(self, data, note):
            self._t, self.note = data, note

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            notes = tuple(a.note for a in args if hasattr(a, "note"))
            return cls(func(*[getattr(a, "_t", a) for a in args], **(kwargs or {})), notes)

    answer = torch.add(Meta(torch.ones(1), "a"), Meta(torch.ones(1), "b"))
    assert answer.note == ("a", "b") and answer._t.tolist() == [2.0]


def test_operators_that_override_nothing(torch):
    cls = subclass(torch, __torch_function__=torch._C._disabled_torch_function_impl)
    x = torch.ones(2).as_subclass(cls)
    assert {type(t) for t in (x + 1, torch.sum(x), x.view(2), x.clone(), x[0])} == {torch.Tensor}
    assert x.add_(1) is x
    plain = torch.ones(2).as_subclass(subclass(torch))
    with torch._C.DisableTorchFunctionSubclass():
        assert {type(t) for t in (plain + 1, torch.sum(plain), plain.view(2))} == {torch.Tensor}
    assert type(plain + 1) is type(plain)


def test_as_subclass_is_a_view_with_history(torch):
    cls = subclass(torch)
    x = torch.ones(2, requires_grad=True)
    s = x.as_subclass(cls)
    assert s.grad_fn.name() == "AliasBackward0" and s.requires_grad and not s.is_leaf and s._is_view()
    (s * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and type(x.grad) is torch.Tensor
    base = torch.ones(2)
    base.as_subclass(cls).add_(1)
    assert base.tolist() == [2.0, 2.0] and base._version == 1
    made = torch.Tensor._make_subclass(cls, base, True)
    assert made.requires_grad and made.is_leaf and not made._is_view() and made.data_ptr() == base.data_ptr()


def test_in_place_operations_give_the_object_back(torch):
    s = torch.ones(2).as_subclass(subclass(torch))
    t = s
    s += 1
    assert (s is t and s.add_(1) is s and s.requires_grad_(False) is s and s.contiguous() is s
        and s.to(torch.float32) is s)


def test_classes_with_a_constructor_and_attributes(torch):
    class Tagged(torch.Tensor):
        @staticmethod
        def __new__(cls, data, tag):
            return super().__new__(cls, data)

        def __init__(self, data, tag):
            self.tag = tag

        @property
        def wide(self):
            return self.shape[0] * 2

        def twice(self):
            return self * 2

        def add(self, other):
            return super().add(other) * 10

    x = Tagged([1.0, 2.0], tag="q")
    assert x.tag == "q" and x.wide == 4 and type(x.twice().twice()) is Tagged and not hasattr(x + 1, "tag")
    assert x.add(1).tolist() == [20.0, 30.0] and "Tagged([1., 2.])" in repr(x)

    class Mixin:
        def mul(self, other):
            return "mixin"

    class Mixed(Mixin, torch.Tensor):
        pass

    assert torch.ones(1).as_subclass(Mixed).mul(1) == "mixin"


def test_gradients_through_a_subclass(torch):
    cls = subclass(torch)
    seen = []
    s = torch.ones(2).as_subclass(cls).requires_grad_()
    s.register_hook(lambda g: seen.append(g.tolist()))
    y = (s * 2).sum()
    (g,) = torch.autograd.grad(y, s, retain_graph=True)
    assert type(y) is cls and type(g) is cls and g.tolist() == [2.0, 2.0]
    y.backward()
    assert s.grad.tolist() == [2.0, 2.0] and seen == [[2.0, 2.0]] * 2
    layer = torch.nn.Linear(2, 3)
    out = layer(torch.ones(1, 2).as_subclass(cls))
    out.sum().backward()
    assert type(out) is cls and type(layer.weight.grad) is torch.Tensor


def test_parameters(torch):
    p = torch.nn.Parameter(torch.ones(2))
    assert ({type(t) for t in (p * 2, p.data, p.detach(), p.clone(), p.view(2), p.t())} == {torch.Tensor}
        and p.requires_grad_() is p)
    mine = type("Mine", (torch.nn.Parameter,), {})(torch.ones(2))
    assert (type(mine) is not torch.nn.Parameter and isinstance(mine, torch.nn.Parameter)
        and type(mine * 2) is torch.Tensor)
    cls = subclass(torch)
    custom = torch.nn.Parameter(torch.ones(2).as_subclass(cls))
    assert (type(custom) is cls and isinstance(custom, torch.nn.Parameter) and custom.requires_grad
        and type(custom * 2) is cls)
    lazy = torch.nn.UninitializedParameter()
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        lazy + 1
    lazy.materialize((2, 3))
    assert type(lazy) is torch.nn.Parameter and lazy.shape == (2, 3) and lazy.requires_grad
    assert type(copy.deepcopy(torch.nn.UninitializedParameter())) is torch.nn.UninitializedParameter


def test_overrides_module(torch):
    overrides = torch.overrides
    s = torch.ones(1).as_subclass(subclass(torch))
    assert overrides.has_torch_function((s,)) and not overrides.has_torch_function((torch.ones(1), 3))
    assert overrides.has_torch_function_unary(s) and not overrides.has_torch_function_variadic(torch.ones(1), 3)
    assert overrides.is_tensor_like(torch.ones(1)) and not overrides.is_tensor_like(3)
    assert (overrides.resolve_name(torch.add) == "torch.add"
        and overrides.resolve_name(torch.Tensor.sum) == "torch.Tensor.sum")
    assert overrides.resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert (overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
        and not overrides.is_tensor_method_or_property(torch.sum))
    functions = overrides.get_overridable_functions()
    assert torch.sum in functions[torch] and torch.Tensor.sum in functions[torch.Tensor]
    assert torch.nn.functional.relu in functions[torch.nn.functional]
    assert torch.zeros in overrides.get_ignored_functions() and overrides.get_testing_overrides()[torch.sum](s) == -1

    @overrides.wrap_torch_function(lambda a: (a,))
    def mine(a):
        return a + 1

    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func is mine

    assert mine(1) == 2 and mine(Like()) is True

    def other(a):
        return overrides.handle_torch_function(other, (a,), a, k=1) if overrides.has_torch_function((a,)) else "plain"

    assert other(1) == "plain" and other(Like()) is False


def test_threads_do_not_see_each_others_disabling(torch):
    import threading

    s = torch.ones(1).as_subclass(subclass(torch))
    kinds = []
    with torch._C.DisableTorchFunctionSubclass():
        thread = threading.Thread(target=lambda: kinds.append(type(s + 1)))
        thread.start()
        thread.join()
    assert kinds == [type(s)]


def test_an_override_that_is_no_classmethod_is_warned_of(torch):
    class Alone:
        def __torch_function__(self, *args, **kwargs):
            return 3

    class Derived(torch.Tensor):
        def __torch_function__(self, *args, **kwargs):
            return 3

    for kind in (Alone, Derived):
        for call in (torch.nn.functional.dropout, torch.norm):
            with pytest.warns(DeprecationWarning, match="as a plain method is deprecated"):
                assert call(kind()) == 3


# what a subclass might call something of its own, and what libraries' subclasses do
NAMES = [
    "_data", "_meta", "_vc", "_edge", "_view", "_base_", "_node", "_array", "_storage", "_shape", "_value", "_version_",
    "_hooks", "_tape", "_wrap", "_from", "_scalar", "_require", "_opaque", "_dispatches", "_plain_class", "_level",
    "_tangent",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_subclass_may_use_any_name(torch, name):
    def used(x):
        y = (x * 2).sum() + x.exp().mean()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        torch.autograd.grad(g.sum(), x)
        with torch.no_grad():
            x.add_(1)
            x[0] = 3.0
        x[1:].view(-1).mul(2).T.clone().detach().cpu()
        return str(x)

    x = torch.ones(2, 3).as_subclass(subclass(torch)).requires_grad_()
    setattr(x, name, {"mine": 1})
    used(x)
    assert getattr(x, name) == {"mine": 1} and copy.copy(x).__dict__ == {name: {"mine": 1}}
    delattr(x, name)
    used(x)

    p = torch.nn.Parameter(torch.ones(2, 3))
    setattr(p, name, 5)
    used(p)
    assert getattr(p, name) == 5

    for value in (property(lambda self: 7), lambda self, *args: 7, 7):  # what the class says
        x = torch.ones(2, 3).as_subclass(subclass(torch, **{name: value})).requires_grad_()
        used(x)
        assert getattr(x, name) == 7 or getattr(x, name)() == 7


@pytest.mark.parametrize("name", NAMES)
def test_a_wrapper_may_keep_its_tensor_under_any_name(torch, name):
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            setattr(self, name, inner)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            inner = [getattr(x, name) if isinstance(x, cls) else x for x in args]
            answer = func(*inner, **(kwargs or {}))
            return cls(answer) if isinstance(answer, torch.Tensor) else answer

    x = Wrapper(torch.ones(3)).requires_grad_()
    y = (x * 2 + x.detach()).sum()
    y.backward()
    assert getattr(y.detach(), name).item() == 9 and getattr(x.grad, name).tolist() == [2, 2, 2]


@pytest.mark.parity
def test_what_tensors_keep_for_themselves_has_the_prefix_of_the_package():
    import torch

    private = {n for n in dir(wengert.Tensor) if n.startswith("_") and not n.startswith("__")}
    own = private - set(dir(torch.Tensor)) - {"_repr_html_"}  # which notebooks ask for
    assert own and all(n.startswith("_wg_") for n in own)


@pytest.mark.parametrize("call", [lambda x: x[0].item(), lambda x: x.detach(), lambda x: x.new_zeros(2)],
    ids=["item", "detach", "new_zeros"])
def test_a_class_is_asked_when_a_mode_has_called_on(torch, call):
    asked = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Mode(importlib.import_module(f"{torch.__name__}.overrides").TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(f"mode {func.__name__}")
            return func(*args, **(kwargs or {}))

    x = torch.ones(2).as_subclass(Sub)
    with Mode():
        call(x)
    name = asked[-1]
    assert asked[-2:] == [f"mode {name}", name] and name in ("item", "detach", "new_zeros")


def test_types_replaced_by_plain_tensors(torch):
    """What a class passes on with ``types`` of plain tensors: the results are plain, and its members can be read."""

    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            types = tuple(torch.Tensor if t is Named else t for t in types)
            return torch.Tensor.__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 3).as_subclass(Named)
    assert tuple(x.shape) == (2, 3) and x.dtype == torch.float32
    assert (x + 1).tolist() == [[2.0] * 3] * 2 and torch.stack([x, x]).shape == (2, 2, 3)
    assert not x.requires_grad and x.sum().item() == 6.0


def test_methods_that_a_program_adds_ask_nobody():
    """In a new process: members are looked at once, when the first subclass is made."""
    program = """if True:
        import wengert as torch

        def kinds(self, other):
            return type(self).__name__ + type(other).__name__

        torch.Tensor.kinds, torch.Tensor.kind = kinds, property(lambda self: type(self).__name__)

        class Strict:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                if not all(issubclass(cls, kind) for kind in types):
                    return NotImplemented
                return super().__torch_function__(func, types, args, kwargs)

        class A(Strict, torch.Tensor): pass
        class B(Strict, torch.Tensor): pass

        a, b = torch.ones(2).as_subclass(A), torch.ones(2).as_subclass(B)
        print(a.kinds(b), (a + 1).kinds(b), a.kind)
        try:
            a.equal(b)
        except TypeError:
            print("refused")
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["AB", "AB", "A", "refused"], done.stderr
