"""Subclasses of several kinds as parameters, in copies, in files and as text, and what classes are asked about
geometry.
"""

import copy
import io
import pickle

import pytest

from tests.makers import cases, module, refuses
from tests.subclasses import load

NAMES = ("base", "own", "logging", "sparse", "diagonal", "asked for sizes", "asked for strides", "redispatching")


@pytest.fixture(params=NAMES)
def kind(torch, request):
    """A class, and what makes an instance of it."""
    return load(torch, "kinds").KINDS[request.param]


@pytest.mark.parametrize("required", [False, True])
def test_parameters_of_a_kind(torch, kind, required):
    cls, make = kind
    p = torch.nn.Parameter(make(3).requires_grad_(required), requires_grad=not required)
    assert isinstance(p, torch.nn.Parameter) and isinstance(p, cls) and p.requires_grad is not required


@pytest.mark.parametrize("parametric", [False, True])
def test_copies_and_texts_of_a_kind(torch, kind, parametric):
    cls, make = kind
    x = make(3)
    x = torch.nn.Parameter(x) if parametric else x
    y = copy.deepcopy(x)
    assert type(y) is type(x) and y is not x and isinstance(y, torch.nn.Parameter) is parametric
    assert y.requires_grad is parametric
    assert repr(x).count("Parameter") == parametric
    assert cls is torch.Tensor or repr(x).count(f"{cls.__name__}(") == 1


@pytest.mark.parametrize("parametric", [False, True])
def test_a_kind_in_a_file(torch, kind, parametric):
    cls, make = kind
    x = make(3)
    x = torch.nn.Parameter(x) if parametric else x
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    with torch.serialization.safe_globals([cls]):
        y = torch.load(file)
    assert type(y) is type(x) and isinstance(y, torch.nn.Parameter) is parametric and y.shape == x.shape
    for name in ("elem", "t", "diag", "values", "places"):
        if type(getattr(x, name, None)) is torch.Tensor:
            assert torch.equal(getattr(y, name), getattr(x, name))


def test_a_kind_is_trained(torch, kind):
    cls, make = kind

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Parameter(make(3))
            self.several = torch.nn.ParameterList([make(3)])
            with torch.no_grad():
                torch.nn.init.normal_(self.one)

        def forward(self, x):
            return self.several[0] + (self.one + x)

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(make(3)).sum().backward(torch.tensor(1.0))
    optimizer.step()
    assert len(model.state_dict()) == 2 and isinstance(model.one, cls)
    assert model.one.grad is not None or cls.__name__ == "Redispatching"  # whose history its class keeps to itself


# -- copies -----------------------------------------------------------------------------------------------------------


def test_a_class_that_cannot_make_another_of_itself_is_not_copied(torch):
    class Plain(torch.Tensor):
        pass

    class Wrong(torch.Tensor):
        def new_empty(self, shape):
            return torch.Tensor(shape)

    class Right(torch.Tensor):
        def new_empty(self, shape):
            return type(self)(shape)

    for cls in (Plain, Wrong):
        with pytest.raises(RuntimeError, match="non-wrapper subclasses .* and for which that function returns another "
                "instance of the same subclass"):
            copy.deepcopy(cls(3))
    x = Right(3)
    x.note = ["a"]
    y = copy.deepcopy(x)
    assert type(y) is Right and y.note == ["a"] and y.note is not x.note


def test_a_wrapper_whose_clone_is_of_another_class_is_not_copied(torch):
    class Holding(torch.Tensor):
        __slots__ = ["held"]
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, held, same):
            made = torch.Tensor._make_wrapper_subclass(cls, held.shape)
            made.held, made.same = held, same
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            x = args[0]
            return Holding(x.held.clone(), x.same) if x.same else x.held.clone()

    with pytest.raises(RuntimeError, match="for which cloning returns another instance of the same subclass"):
        copy.deepcopy(Holding(torch.ones(2), False))
    x = Holding(torch.ones(2), True)
    x.grad, x.note = Holding(torch.zeros(2), True), {"a": 1}
    x.requires_grad_()
    y = copy.deepcopy(x)
    assert (type(y) is Holding and y.held is not x.held and torch.equal(y.held, x.held) and y.note == {"a": 1}
        and y.note is not x.note)
    assert y.requires_grad and type(y.grad) is Holding and y.grad is not x.grad


def test_slots_of_a_wrapper_are_pickled(torch):
    x = load(torch, "logging_tensor").LoggingTensor(torch.arange(3.0), requires_grad=True)
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is type(x) and torch.equal(y.elem, x.elem) and y.requires_grad and y.stride() == x.stride()


# -- as text ----------------------------------------------------------------------------------------------------------


def test_the_text_of_a_parameter_names_its_class(torch):
    class Named(torch.Tensor):
        pass

    class Own(torch.nn.Parameter):
        pass

    x = Named([1.0, 2.0])
    assert repr(torch.nn.Parameter(x)) == "Parameter(Named([1., 2.], requires_grad=True))"
    assert repr(torch.nn.Parameter(x, requires_grad=False)) == "Parameter(Named([1., 2.]))"
    assert repr(Own(torch.ones(1))) == "Parameter containing:\nParameter(Own([1.], requires_grad=True))"


def test_a_class_says_what_stands_for_its_numbers(torch):
    class Silent(torch.Tensor):
        @staticmethod
        def __new__(cls, kind):
            return torch.Tensor._make_wrapper_subclass(cls, (2,), dtype=kind)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError(func)

        def __repr__(self):
            return super().__repr__(tensor_contents="quiet")

    x = Silent(torch.float64)
    assert str(x) == "Silent(quiet, dtype=torch.float64)"
    x.requires_grad_()
    assert str(x) == "Silent(quiet, dtype=torch.float64, requires_grad=True)"
    assert str(Silent(torch.float32)) == "Silent(quiet)"


# -- asked about geometry ----------------------------------------------------------------------------------------------


def _asking(torch, answers, **options):
    class Asked(torch.Tensor):
        @staticmethod
        def __new__(cls, data, wrapped):
            if wrapped:
                return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype, **options)
            return torch.Tensor._make_subclass(cls, data, True, **options)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            name = str(func.overloadpacket).removeprefix("aten.").removeprefix("prim.")
            return answers.get(name, NotImplemented)

    return Asked


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_class_is_asked_about_sizes_and_strides(torch, wrapped):
    x = _asking(torch, {"dim": 2, "sym_size": (5, 3)}, dispatch_sizes_strides_policy="sizes")(torch.ones(6, 2), wrapped)
    assert x.size() == (5, 3) and x.dim() == 2
    x = _asking(torch, {"dim": 2, "sym_size": None}, dispatch_sizes_strides_policy="sizes")(torch.ones(6, 2), wrapped)
    assert x.size() == (6, 2)
    x = _asking(torch, {"sym_stride": (4, 2)}, dispatch_sizes_strides_policy="strides")(torch.ones(6, 2), wrapped)
    assert x.stride() == (4, 2) and x.size() == (6, 2)
    x = _asking(torch, {}, dispatch_sizes_strides_policy="strides")(torch.ones(6, 2), wrapped)
    for ask, name in ((x.stride, "sym_stride"), (x.is_contiguous, "is_contiguous"), (x.contiguous, "is_contiguous")):
        with pytest.raises(TypeError, match=f"Multiple dispatch failed for 'torch.ops.aten.{name}'"):
            ask()
    x = _asking(torch, {"is_contiguous": True}, dispatch_sizes_strides_policy="strides")(torch.ones(6, 2), wrapped)
    assert x.is_contiguous() is True and x.contiguous() is x
    x = _asking(torch, {"is_contiguous": False}, dispatch_sizes_strides_policy="strides")(torch.ones(6, 2), wrapped)
    with pytest.raises(TypeError, match="Multiple dispatch failed for"):  # a copy is asked for
        x.contiguous()


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_class_is_asked_about_layout_and_device(torch, wrapped):
    answers = {"layout": torch.sparse_csr, "device": torch.device("meta")}
    x = _asking(torch, answers, dispatch_layout=True, dispatch_device=True)(torch.ones(2), wrapped)
    assert x.layout == torch.sparse_csr and x.device.type == "meta"
    x = _asking(torch, answers)(torch.ones(2), wrapped)
    assert x.layout == torch.strided and x.device.type == "cpu"


def test_a_memory_format_is_asked_about_by_name_too(torch):
    seen = []

    class Asked(torch.Tensor):
        @staticmethod
        def __new__(cls, data):
            return torch.Tensor._make_subclass(cls, data, True, dispatch_sizes_strides_policy="strides")

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((str(func), args[1:], kwargs))

    x = Asked(torch.ones(2, 2))
    assert x.is_contiguous(memory_format=torch.channels_last) is False
    assert seen == [("aten.is_contiguous.memory_format", (torch.channels_last,), {})]


def test_further_keys_of_a_wrapper(torch):
    C = torch._C

    class Keyed(torch.Tensor):
        @staticmethod
        def __new__(cls, data, keys):
            return torch.Tensor._make_wrapper_subclass(cls, data.shape, _extra_dispatch_keys=keys)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            pass

    found = C._dispatch_keys(Keyed(torch.ones(2), C.DispatchKeySet(C.DispatchKey.NestedTensor)))
    assert found.has(C.DispatchKey.NestedTensor) and not found.has(C.DispatchKey.AutogradNestedTensor)


def test_the_memory_of_a_wrapper_cannot_be_had(torch):
    x = load(torch, "logging_tensor").LoggingTensor(torch.ones(1))
    with pytest.raises(RuntimeError, match="on an invalid python storage"):
        x.untyped_storage().data_ptr()


# -- around dispatch ---------------------------------------------------------------------------------------------------


def test_operators_of_the_programs_dispatch_on_lists_with_gaps(torch):
    LoggingTensor = load(torch, "logging_tensor").LoggingTensor
    library = torch.library.Library("subclass_kinds", "FRAGMENT")
    try:
        library.define("gaps(Tensor?[] xs) -> Tensor")
        library.define("one(Tensor x) -> Tensor")
        for name in ("gaps", "one"):
            library.impl(name, lambda xs: torch.ones(()), "CPU")
        x = LoggingTensor(torch.ones(2))
        assert type(torch.ops.subclass_kinds.gaps([None, x])) is LoggingTensor
        assert type(torch.ops.subclass_kinds.one(x)) is LoggingTensor
    finally:
        library._destroy()


def test_modes_that_are_nothing_to_programs(torch):
    found = module(torch, "utils._python_dispatch")

    class Own(found.TorchDispatchMode):
        @classmethod
        def is_infra_mode(cls):
            return True

    class Other(found.TorchDispatchMode):
        pass

    assert not found.is_in_torch_dispatch_mode()
    with Own():
        assert found.is_in_torch_dispatch_mode() and not found.is_in_torch_dispatch_mode(include_infra_modes=False)
        with Other():
            assert found.is_in_torch_dispatch_mode(include_infra_modes=False)


def test_keys_in_lists_are_asked(torch):
    class Key(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *args, **kwargs):
            return "asked"

    assert torch.ones(3)[[Key(), Key()]] == "asked"


def test_a_stream_has_a_name(torch):
    stream = torch.Stream(stream_id=1, device_index=2, device_type=3)
    assert (stream.stream_id, stream.device_index, stream.device_type) == (1, 2, 3)


def test_type_as_goes_to_the_device(torch):
    assert torch.ones(2).type_as(torch.empty(1, dtype=torch.float64, device="meta")).is_meta
    assert torch.ones(2).type_as(torch.empty(1, dtype=torch.float64)).dtype == torch.float64


NO_SUBCLASS = "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible."


def _detaching(torch):
    class Forgets(torch.Tensor):
        def detach(self):
            return torch.ones(2)

    torch.nn.Parameter(torch.ones(2).as_subclass(Forgets))


def _policy(torch):
    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    torch.Tensor._make_wrapper_subclass(Wrapper, (2,), dispatch_sizes_strides_policy="none")


@cases([
    ("make", lambda torch: torch.Tensor._make_subclass(int, torch.ones(2)), TypeError, NO_SUBCLASS),
    ("as", lambda torch: torch.ones(2).as_subclass(int), TypeError, NO_SUBCLASS),
    ("wrapper", lambda torch: torch.Tensor._make_wrapper_subclass(int, (2,)), TypeError, NO_SUBCLASS),
    ("no class", lambda torch: torch.Tensor._make_subclass(3, torch.ones(2)), TypeError,
        "cls must be a type (got int)"),
    ("integers", lambda torch: torch.Tensor._make_subclass(torch.Tensor, torch.arange(2), True), RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients"),
    ("parameter", lambda torch: torch.nn.Parameter(torch.arange(2)), RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients"),
    ("detach", _detaching, RuntimeError,
        "requires that detach() returns an instance of the same type, but return type Tensor was found instead"),
    ("policy", _policy, ValueError, "Unknown sizes_strides_policy: none; expected 'strides' or 'sizes'"),
])
def test_what_cannot_be_made_of_a_class(torch, run, error, message):
    refuses(torch, run, error, message)
