"""A module called with other parameters and buffers than its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from wengert.nn.modules.module import Module
from wengert.tensor import Tensor

__all__ = ["functional_call"]

_ABSENT: Any = object()


def _named_tensors(module: Module) -> Iterator[tuple[str, Tensor]]:
    return chain(module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False))


def _with_tied(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """``given`` and, for every tensor in it that goes by several names, the same value under the others."""
    names: dict[Tensor, list[str]] = {}
    for name, tensor in _named_tensors(module):
        names.setdefault(tensor, []).append(name)
    complete = dict(given)
    for tied in names.values():
        values = [given[name] for name in tied if name in given]
        if len(tied) < 2 or not values:
            continue
        if any(value is not values[0] for value in values):
            raise ValueError(f"functional_call got multiple values for keys {sorted(tied)}, which are tied. "
                "Consider using tie_weights=False")
        complete.update(dict.fromkeys(tied, values[0]))
    return complete


def _check_keys(module: Module, given: dict[str, Tensor]) -> None:
    own = {name for name, _ in _named_tensors(module)}
    differences = (("Unexpected", sorted(given.keys() - own)), ("Missing", sorted(own - given.keys())))
    errors = [f"{title} key(s): {', '.join(map(repr, names))}." for title, names in differences if names]
    if errors:
        lines = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{lines}")


def _swap(module: Module, path: str, tensor: Any) -> Any:
    """Put ``tensor`` in the place called ``path``; what was there."""
    if not path:
        raise KeyError('tensor name can\'t be empty string ""')
    parent, _, name = path.rpartition(".")
    owner: Any = module.get_submodule(parent)
    if tensor is not _ABSENT and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    for members in (owner._parameters, owner._buffers):
        if name in members:
            before = members[name]
            members[name] = tensor
            return before
    before = getattr(owner, name, _ABSENT)
    if before is not _ABSENT and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, tensor)
    return before


@contextmanager
def _reparametrize_module(module: Module, parameters_and_buffers: dict[str, Tensor], *, tie_weights: bool = False,
        strict: bool = False, stack_weights: bool = False) -> Iterator[None]:
    """Inside, the module has the given tensors; they are given back what the module replaced them by."""
    given = _with_tied(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        _check_keys(module, given)
    before: dict[str, Any] = {}
    try:
        for path, tensor in given.items():
            before[path] = _swap(module, path, tensor)
        yield
    finally:
        order = list(before)
        after = {path: _swap(module, path, before[path]) for path in (reversed(order) if stack_weights else order)}
        parameters_and_buffers.update((key, after[key]) for key in parameters_and_buffers if key in after)


def _functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
        kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    from ..parallel import DataParallel

    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


def functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
        kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """Deprecated place of ``func.functional_call``: call ``module`` with other tensors than its own."""
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
        "future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
        "replacement.", FutureWarning, stacklevel=2)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
