"""Policies: which submodules ``FullyShardedDataParallel`` wraps by themselves."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...nn import Module

__all__ = ["CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap"]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every submodule."""
    return True


def lambda_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int,
        lambda_fn: Callable[[Any], bool]) -> bool:
    """Those of which ``lambda_fn`` says so."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int,
        transformer_layer_cls: set[type]) -> bool:
    """Those of some classes."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(module: Any, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8),
        force_leaf_modules: Any = None, exclude_wrap_modules: Any = None) -> bool:
    """Those with many parameters that no submodule of theirs has taken."""
    from ...nn import ModuleDict, ModuleList, MultiheadAttention

    large = nonwrapped_numel >= min_num_params
    if recurse:
        leaves = (MultiheadAttention,) if force_leaf_modules is None else tuple(force_leaf_modules)
        return large and not isinstance(module, leaves)
    kept = (ModuleList, ModuleDict) if exclude_wrap_modules is None else tuple(exclude_wrap_modules)
    return large and not isinstance(module, kept)


class ModuleWrapPolicy:
    """The submodules of some classes.

    >>> from wengert.distributed.fsdp.wrap import ModuleWrapPolicy
    >>> ModuleWrapPolicy({torch.nn.Linear})(torch.nn.Linear(1, 1), recurse=False)
    True
    """

    def __init__(self, module_classes: Any) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return True if recurse else isinstance(module, tuple(self._module_classes))


class CustomPolicy:
    """The submodules of which ``lambda_fn`` says so, or gives arguments for."""

    def __init__(self, lambda_fn: Callable[[Any], Any]) -> None:
        self._lambda_fn = lambda_fn

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> Any:
        return True if recurse else self._lambda_fn(module)


_wrapping: list[tuple[Any, dict[str, Any]]] = []


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Inside, ``wrap`` makes objects of ``wrapper_cls``."""
    _wrapping.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.pop()


def wrap(module: Any, **wrap_overrides: Any) -> Any:
    """``module``, wrapped inside of ``enable_wrap``."""
    if not _wrapping:
        return module
    kind, kwargs = _wrapping[-1]
    return kind(module, **{**kwargs, **wrap_overrides})


def wrap_inside(module: Any, policy: Any, make: Callable[..., Any], ignored: set[int]) -> int:
    """Wrap the submodules that a policy names, the inner ones first; the number of parameters that were taken."""
    total = sum(p.numel() for p in module.parameters() if id(p) not in ignored)
    taken = 0
    if policy(module=module, recurse=True, nonwrapped_numel=total):
        for name, child in list(module.named_children()):
            taken += _child(module, name, child, policy, make, ignored)
    return taken


def _child(module: Any, name: str, child: Module, policy: Any, make: Callable[..., Any], ignored: set[int]) -> int:
    count = sum(p.numel() for p in child.parameters() if id(p) not in ignored)
    taken = wrap_inside(child, policy, make, ignored)
    verdict = policy(module=child, recurse=False, nonwrapped_numel=count - taken)
    if not verdict:
        return taken
    setattr(module, name, make(child, **(verdict if isinstance(verdict, dict) else {})))
    return count


def _or_policy(module: Any, recurse: bool, nonwrapped_numel: int, policies: Any) -> bool:
    return any(bool(p(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)) for p in policies)
