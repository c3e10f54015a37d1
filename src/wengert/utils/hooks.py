"""``torch.utils.hooks``: handles of hooks, and what saving a tensor makes of its hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.handles import RemovableHandle

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..nn.modules._backward_hook import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark ``f``, a hook on tensors that are going to be saved: that it is left out is meant."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of each hook on ``tensor`` that saving it would lose."""
    for key, hook in (tensor._backward_hooks or {}).items():
        if not hasattr(hook, "__torch_unserializable__"):
            import warnings

            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning (the hook's key is "
                f"{key})",
                stacklevel=2,
            )


def __getattr__(name: str) -> Any:
    if name == "BackwardHook":  # modules are not needed for the rest
        from ..nn.modules._backward_hook import BackwardHook

        return BackwardHook
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
