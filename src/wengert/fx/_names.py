"""What PyTorch calls the targets of a graph, and with which arguments its own functions in Python are recorded.

PyTorch's functions are partly compiled, partly written in Python. A compiled one is recorded with the arguments as they
were written; one in Python with those that have no default by position and all others by name, defaults included.
"""

from __future__ import annotations

import builtins
import inspect
import types
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

from ..functions.places import PLACES
from ..names.homes import OURS, THEIRS, their_module
from ..overrides import signature_of
from ..tensor import Tensor
from ..tensor.tensor import members

# Functions of nn.functional that are compiled: in PyTorch's module for networks, or in that for all.
_NN = frozenset(("avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear", "logsigmoid",
    "one_hot", "scaled_dot_product_attention", "softplus", "softshrink"))
_COMPILED = frozenset(("adaptive_avg_pool1d", "avg_pool1d", "bilinear", "celu_", "channel_shuffle", "conv1d", "conv2d",
    "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "hardshrink",
    "native_channel_shuffle", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_",
    "rrelu_", "selu_", "threshold_"))
# Functions of torch that are written in Python, in torch.functional.
_IN_PYTHON = frozenset(("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "cdist", "chain_matmul", "einsum", "lu", "meshgrid", "norm", "split", "stft", "tensordot",
    "unique", "unique_consecutive", "unravel_index"))
# PyTorch's parameters, where ours have another form.
_POOL = "stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False"
_PARAMETERS = {
    **dict.fromkeys(("hardsigmoid", "hardswish", "mish", "relu", "relu6", "selu", "silu"), "input, inplace=False"),
    **dict.fromkeys(("celu", "elu"), "input, alpha=1.0, inplace=False"),
    "hardtanh": "input, min_val=-1.0, max_val=1.0, inplace=False",
    "leaky_relu": "input, negative_slope=0.01, inplace=False", "threshold": "input, threshold, value, inplace=False",
    **{f"max_pool{n}d{end}": f"input, kernel_size, {_POOL}" for n in (1, 2, 3) for end in ("", "_with_indices")},
    **{f"adaptive_max_pool{n}d{end}": "input, output_size, return_indices=False" for n in (1, 2, 3)
        for end in ("", "_with_indices")},
    **{f"fractional_max_pool{n}d{end}": "input, kernel_size, output_size=None, output_ratio=None, "
        "return_indices=False, _random_samples=None" for n in (2, 3) for end in ("", "_with_indices")},
    "group_norm": "input, num_groups, weight=None, bias=None, eps=1e-05",
    "instance_norm": "input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
        "momentum=0.1, eps=1e-05",
    "layer_norm": "input, normalized_shape, weight=None, bias=None, eps=1e-05",
    "rms_norm": "input, normalized_shape, weight=None, eps=None",
    "normalize": "input, p=2.0, dim=1, eps=1e-12, out=None",
    "norm": "input, p='fro', dim=None, keepdim=False, out=None, dtype=None",
    "split": "tensor, split_size_or_sections, dim=0", "tensordot": "a, b, dims=2, out=None",
    "stft": "input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', "
        "normalized=False, onesided=None, return_complex=None, align_to_window=None",
}
_METHODS = frozenset(("sigmoid", "tanh"))  # what nn.functional has as calls of a method
_LEFT_OUT = {"l1_loss": ("weight",)}
_SPECIAL = {"multi_head_attention_forward": 13}  # arguments by position, where that is not said by defaults
_STACKLEVEL = frozenset(("softmax", "log_softmax", "softmin"))


@cache
def _known() -> dict[Any, str]:
    """PyTorch's address of each public function."""
    functional = vars(import_module(f"{OURS}.nn.functional"))
    found: dict[Any, str] = {}
    places = {**PLACES, "functional": {n: f for n, f in functional.items()
        if n[0] != "_" and isinstance(f, types.FunctionType) and f.__module__ in (
            functional["__name__"], f"{THEIRS}.nn.functional")} | PLACES["functional"]}
    for place, functions in places.items():
        for name, f in functions.items():
            if place == "torch":
                address = f"torch.functional.{name}" if name in _IN_PYTHON else f"torch.{name}"
            elif place == "functional":
                address = (f"torch._C._nn.{'log_sigmoid' if name == 'logsigmoid' else name}" if name in _NN
                    else f"torch.{name}" if name in _COMPILED else f"torch.nn.functional.{name}")
            else:
                address = f"torch._C._{place}.{place}_{name}"
            known = found.get(f)
            if known is None or (place == "torch" and name == f.__name__):
                found[f] = address
    return found


def home(obj: Any) -> str | None:
    """The module that PyTorch has ``obj`` in; for other things, their own."""
    module = getattr(obj, "__module__", None)
    if module is None or module.partition(".")[0] != OURS:
        return module
    return their_module(module, getattr(obj, "__qualname__", "")) or THEIRS


def type_name(kind: Any) -> str:
    """How PyTorch writes a type: ``torch.Tensor``, ``int``, ``typing.Optional[int]``."""
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        module = home(kind)
        return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
    if kind is ...:
        return "..."
    if isinstance(kind, types.FunctionType):
        return kind.__name__
    return repr(kind)


@cache
def _is_method(f: Any) -> bool:
    return members().get(f.__name__) is f


def qualified_name(f: Any) -> str:
    """The address of a callable, as generated code writes it: ``torch.relu``, ``torch._C._nn.linear``.

    >>> from wengert.fx._names import qualified_name
    >>> qualified_name(torch.nn.functional.linear), qualified_name(len)
    ('torch._C._nn.linear', 'len')
    """
    name: str = f.__name__
    if getattr(builtins, name, None) is f:
        return name
    if isinstance(f, types.FunctionType):
        known = _known().get(f)
        if known is not None:
            return known
        if _is_method(f):
            return f"torch.Tensor.{name}"
    if name == "<lambda>":
        try:
            name = inspect.getsource(f).split("=")[0].strip()
        except Exception as error:
            raise RuntimeError("Unable to represent lambda") from error
    module = home(f)
    if module is None:
        raise RuntimeError(f"cannot find module for {f}")
    return f"{module.replace('torch._ops', 'torch.ops')}.{name}"


def short_name(f: Any) -> str:
    """The name of a callable without its module, from which the name of a node is made."""
    known = _known().get(f) if isinstance(f, types.FunctionType) else None
    return known.rpartition(".")[2] if known is not None else f.__name__


def reachable(address: str, obj: Any) -> bool:
    """Whether code that has ``torch`` finds ``obj`` at that address."""
    try:
        found = attrgetter(address.partition(".")[2])(import_module(OURS))
    except (AttributeError, ImportError):
        return False
    return found is obj or found == obj


@cache
def _parameters(f: Any) -> list[inspect.Parameter]:
    said = _PARAMETERS.get(_known()[f].rpartition(".")[2])
    signature = signature_of(f) if said is None else inspect.signature(eval(f"lambda {said}: None"))
    return [p for p in signature.parameters.values() if p.name != "_stacklevel"]


def as_recorded(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """What a graph has for ``f(*args, **kwargs)``: the function, or the name of a method, and the arguments."""
    address = _known().get(f, "") if isinstance(f, types.FunctionType) else ""
    place, _, name = address.rpartition(".")
    if place == "torch.nn.functional" and name in _METHODS:
        return name, args, kwargs
    if place not in ("torch.nn.functional", "torch.functional"):
        return f, args, kwargs
    if name.startswith("upsample"):
        return _as_interpolation(f, name, args, kwargs)
    row = _parameters(f)
    if name == "einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):  # its older form
        args = (args[0], *args[1])
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in row):
        return f, args, {"indexing": None} | kwargs if name == "meshgrid" else kwargs
    bound = inspect.Signature(row).bind(*args, **{k: v for k, v in kwargs.items() if k != "_stacklevel"})
    bound.apply_defaults()
    if bound.arguments.get("return_indices") is True and not name.endswith("_with_indices"):
        f = getattr(import_module(f"{OURS}.nn.functional"), f"{name}_with_indices")
    values = {k: v for k, v in bound.arguments.items() if k not in _LEFT_OUT.get(name, ())}
    first = _SPECIAL.get(name, sum(p.default is p.empty for p in row if p.name != "shape"))
    named = dict(list(values.items())[first:])
    if name in _STACKLEVEL:
        named = {"dim": named.pop("dim"), "_stacklevel": kwargs.get("_stacklevel", 3), **named}
    return f, tuple(values.values())[:first], named


def _as_interpolation(f: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The older functions ``upsample*``, which call ``interpolate``."""
    functional = import_module(f"{OURS}.nn.functional")
    bound = signature_of(f).bind(*args, **kwargs)
    bound.apply_defaults()
    given = dict(bound.arguments)
    if name != "upsample":
        given |= {"mode": "nearest"} if name == "upsample_nearest" else {"mode": "bilinear", "align_corners": True}
    return as_recorded(functional.interpolate, (given.pop("input"),), given)


def is_method(f: Any) -> bool:
    """Whether ``f`` is a method of Tensor, or reads or writes one of its properties."""
    return isinstance(getattr(f, "__self__", None), property) or (isinstance(f, types.FunctionType) and (
        f in _methods() and f not in _known()))


@cache
def _methods() -> frozenset[Any]:
    return frozenset(f for f in members().values() if isinstance(f, types.FunctionType)) | {
        f for f in vars(Tensor).values() if isinstance(f, types.FunctionType)}
