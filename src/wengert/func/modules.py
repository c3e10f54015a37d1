"""Modules as functions: called with other tensors than their own, or many models stacked into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..tensor.functions import function

if TYPE_CHECKING:
    from ..nn import Module


def functional_call(module: Module, parameter_and_buffer_dicts: Any, args: Any = None,
        kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """``module(*args, **kwargs)`` with the given tensors in place of its parameters and buffers.

    ``parameter_and_buffer_dicts``: a dict from names to tensors, or a tuple of such dicts without common names.
    ``args``: one argument, or a tuple. ``tie_weights``: what is given for one name of a shared parameter counts for
    all. ``strict``: the names must be exactly the module's.

    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.tensor([[1.0, 10.0]])}, torch.tensor([3.0, 4.0]))
    tensor([43.])
    """
    from ..nn.utils.stateless import _functional_call

    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        given = {name: value for d in parameter_and_buffer_dicts for name, value in d.items()}
        counts = Counter(name for d in parameter_and_buffer_dicts for name in d)
        if repeated := [name for name, n in counts.items() if n > 1]:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    else:
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}")
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """``(parameters, buffers)`` of models of one class, each stacked along a new first dimension, for ``vmap``.

    The stacked parameters are leaves that require gradients where those of the models do.

    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 3) for _ in range(4)])
    >>> parameters["weight"].shape
    torch.Size([4, 3, 2])
    """
    check_alike("stack_module_state", models)
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return ({name: _stacked_leaf([p[name] for p in parameters], name) for name in parameters[0]},
        {name: _stacked_leaf([b[name] for b in buffers], name) for name in buffers[0]})


def check_alike(api: str, models: Sequence[Module]) -> None:
    """Refuse no model, models of several classes, or some in training mode and some not."""
    if len(models) == 0:
        raise RuntimeError(f"{api}: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(f"{api}: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError(f"{api}: Expected all models to be of the same class.")


def _stacked_leaf(tensors: list[Any], name: str) -> Any:
    asked = {t.requires_grad for t in tensors}
    if len(asked) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return function("stack")([t.detach() for t in tensors])._wg_require(asked.pop())


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let no batch norm below ``root`` keep running statistics, which a mapped function could not update; gives
    ``root``.

    >>> torch.func.replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(2)).track_running_stats
    False
    """
    for module in root.modules():
        batch_norm_without_running_stats(module)
    return root


def batch_norm_without_running_stats(module: Module) -> None:
    """Let this module, if it is a batch norm, keep no running statistics."""
    from ..nn.modules.batchnorm import _BatchNorm

    if isinstance(module, _BatchNorm) and module.track_running_stats:
        module.running_mean = module.running_var = module.num_batches_tracked = None
        module.track_running_stats = False
