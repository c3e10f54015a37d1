"""``torch.overrides``: every function that it lists is overridden by who is among its arguments, by Tensor's own
methods too.
"""

import inspect
import subprocess
import sys

import pytest

# What PyTorch's methods want that is no tensor, by the name of the parameter ...
_NUMBERS = {
    name: value
    for names, value in (
        ("dim dim0 dim1 axis0 axis1 dimension start length n chunks destination dense_dim", 0),
        ("p maxnorm value fill_value step size2", 1),
        ("size size1 stride split_sizes split_size_or_sections", (1,)),
        ("coalesced", True),
        ("cuda_enabled cpu_enabled", False),
        ("reduce", "sum"),
    )
    for name in names.split()
}
# ... or of the function.
_OTHERS = {
    "select": {"index": 0}, "select_scatter": {"index": 0}, "movedim": {"source": 0}, "moveaxis": {"source": 0},
    "unfold": {"size": 1}, "split": {"split_size_or_sections": 1}, "unsafe_split": {"split_size_or_sections": 1},
}
# What PyTorch's functions require although their stand-ins in get_testing_overrides do not.
_REQUIRED = {
    "frobenius_norm": {"dim": 0}, "native_layer_norm": {"weight": None, "bias": None, "eps": 1.0},
    "nonzero_static": {"size": 1}, "_fused_rms_norm": {"weight": None, "eps": 1.0}, "segment_reduce": {"reduce": "sum"},
    "repeat_interleave": {"repeats": 1}, "linalg_solve_triangular": {"upper": True},
}


def _call(torch, f, make, of_tensor):
    """Call ``f`` with as many arguments as its stand-in in ``get_testing_overrides`` requires."""
    found = inspect.getfullargspec(torch.overrides.get_testing_overrides()[f])
    names = found.args[: len(found.args) - len(found.defaults or ())]
    if f is torch.sym_sum:
        return f([make(), make()])
    more = {k: v for k, v in _REQUIRED.get(f.__name__, {}).items() if k not in names or k == "upper"}
    known = {}
    if of_tensor:
        known = {**_NUMBERS, "cuda_dtype": torch.float16, "cpu_dtype": torch.bfloat16, **_OTHERS.get(f.__name__, {})}
    row = [known.get(n, make()) for n in names if n not in more] + [make() for _ in range(2 if found.varargs else 0)]
    if f.__name__.startswith("index_put"):
        row[1] = [make()]
    if f.__name__ in ("scatter", "scatter_", "where"):
        row += [make() for _ in range((4 if "scatter" in f.__name__ else 3) - len(row))]
    return f(*row, **more)


@pytest.mark.filterwarnings("ignore")
def test_every_function_that_is_listed_is_overridden(torch):
    overrides = torch.overrides
    asked = []

    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return -1

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return -1

    left = []
    for f in overrides.get_testing_overrides():
        of_tensor = overrides.is_tensor_method_or_property(f)
        asked.clear()
        try:
            _call(torch, f, (lambda: Sub([5])) if of_tensor else Like, of_tensor)
        except Exception as error:
            if not asked:
                left.append((overrides.resolve_name(f), str(error)[:80]))
        if not asked:
            left.append(overrides.resolve_name(f) or f.__name__)
        # which PyTorch has twice
        elif not of_tensor and asked[0] is not f and asked[0].__name__ not in ("mm", "hspmm", "sspaddmm"):
            left.append((overrides.resolve_name(f), asked[0].__name__))
    # the first argument of polygamma's method is no tensor; is_inference is asked of every kind of tensor here; in
    # PyTorch some only ask parts
    known = {"torch.Tensor.polygamma", "torch.Tensor.is_inference", "torch.Tensor.set_", "torch.Tensor.record_stream"}
    left = [n for n in left if (n if isinstance(n, str) else n[0]) not in known]
    assert left == []


def test_stand_ins_have_the_signatures_of_what_they_stand_for(torch):
    overrides = torch.overrides.get_testing_overrides()
    for f, required in ((torch.where, 1), (torch.lerp, 3), (torch.nn.functional.dropout, 1), (torch.Tensor.lerp, 3),
            (torch.Tensor.shape.__get__, 1)):
        found = inspect.getfullargspec(overrides[f])
        assert len(found.args) - len(found.defaults or ()) == required
        assert overrides[f](*range(required)) == -1


@pytest.mark.parametrize("call", [
    "torch.cholesky(torch.eye(2))", "torch.mul(torch.ones(1), 2)", "~torch.ones(1).bool()",
    "torch.meshgrid(torch.ones(1))",
])
def test_signatures_of_stand_ins_do_not_depend_on_earlier_calls(call):
    code = """
import inspect, warnings, wengert as torch
warnings.simplefilter("ignore")
if {first}:
    {call}
stand_ins = torch.overrides.get_testing_overrides()
print(*sorted((torch.overrides.resolve_name(f) or f.__name__, str(inspect.signature(s))) for f, s in stand_ins.items()))
"""
    found = {subprocess.run([sys.executable, "-c", code.format(first=first, call=call)], capture_output=True, text=True,
        check=True).stdout for first in (False, True)}
    assert len(found) == 1


def test_functions_that_are_never_overridden(torch):
    ignored, listed = torch.overrides.get_ignored_functions(), torch.overrides.get_overridable_functions()
    for f in (torch.normal, torch.range, torch.set_num_threads, torch.sparse_coo_tensor, torch.nn.functional.tanh,
            torch.Tensor.new_ones):
        assert f in ignored and not any(f in row for row in listed.values())
    for f in (torch.exp_, torch.nn.functional.relu_):
        assert f not in ignored and not any(f in row for row in listed.values())


def test_methods_of_tensor_itself_ask_the_class_of_what_they_are_called_with(torch):
    """A handler is given them: what it calls with an instance of another class reaches that class's handler."""
    asked = []

    class Inner(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(torch.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Outer:
        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*(a.inner if isinstance(a, cls) else a for a in args), **(kwargs or {}))

    outer = Outer(torch.arange(6.0).as_subclass(Inner))
    handler = Outer.__torch_function__
    assert handler(torch.Tensor.shape.__get__, (Outer,), (outer,)) == (6,)
    assert type(handler(torch.Tensor.view, (Outer,), (outer, 2, 3))) is Inner
    assert handler(torch.Tensor.size, (Outer,), (outer, 0)) == 6
    assert type(handler(torch.Tensor.detach, (Outer,), (outer,))) is Inner
    assert type(torch.exp(outer)) is Inner
    assert (asked == ["torch.Tensor.shape.__get__", "torch.Tensor.view", "torch.Tensor.size", "torch.Tensor.detach",
        "torch.exp"])


def test_functions_about_conjugates_are_overridden(torch):
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    for name in ("is_conj", "is_neg", "resolve_conj", "resolve_neg"):
        assert getattr(torch, name)(Like()) is getattr(torch, name)


# -- nobody knows the function ----------------------------------------------------------------------------------------


def _declining(torch):
    class Declining(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    return Declining


def test_the_error_names_the_function_and_the_types(torch):
    kind = _declining(torch)
    x = kind([1.0])

    def mine(a):
        return torch.overrides.handle_torch_function(mine, (a,), a)

    for call, text in (
        (lambda: mine(x), rf"no implementation found for '{__name__}.mine' on types that implement __torch_function__: "
            r"\[<class '.*Declining'>\]"),
        (lambda: torch.nn.functional.dropout(x),
            "no implementation found for 'torch.nn.functional.dropout' on types that implement"),
        (lambda: torch.add(x, 1),
            r"Multiple dispatch failed for 'torch.add'; all __torch_function__ handlers returned NotImplemented"),
        (lambda: x.shape, "Multiple dispatch failed for 'torch.Tensor.shape.__get__'; all"),
        (lambda: x.neg_(), "Multiple dispatch failed for 'torch.Tensor.neg_'; all"),
        (lambda: x[0], "Multiple dispatch failed for 'torch.Tensor.__getitem__'; all"),
        (lambda: torch.ones(1).add(x), "Multiple dispatch failed for 'torch.Tensor.add'; all"),
        (lambda: x + 1, r"unsupported operand type\(s\) for \+"),
    ):
        with pytest.raises(TypeError, match=text):
            call()


def test_the_error_names_the_mode(torch):
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    def mine(a):
        return torch.overrides.handle_torch_function(mine, (a,), a)

    for call, text in (
        (lambda: mine(1), r"no implementation found for '.*mine' on types that implement __torch_function__: \[\] nor "
            r"in mode <.*Mode object"),
        (lambda: torch.ones(1), r"Multiple dispatch failed for 'torch.ones'; (?s:.*)- mode object <.*Mode object"),
    ):
        with pytest.raises(TypeError, match=text), Mode():
            call()


# -- switched off -----------------------------------------------------------------------------------------------------


def test_overriding_is_switched_off_and_on(torch):
    class Named(torch.Tensor):
        pass

    calls = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(func)
            return func(*args, **(kwargs or {}))

    C = torch._C
    x = Named(torch.ones(2))
    with Mode():
        with C.DisableTorchFunctionSubclass():
            assert type(torch.sum(x)) is torch.Tensor and calls == [torch.sum]
            assert type(torch.sum(x)) is torch.Tensor
        calls.clear()
        with C.DisableTorchFunction():
            assert type(torch.sum(x)) is torch.Tensor and calls == []


def test_the_modes_in_force_are_found_by_their_place(torch):
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    C = torch._C
    before = C._len_torch_function_stack()
    with Mode() as outer, Mode() as inner:
        assert C._len_torch_function_stack() == before + 2
        assert C._get_function_stack_at(before) is outer and C._get_function_stack_at(before + 1) is inner
