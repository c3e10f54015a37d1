"""``DistributedDataParallel`` around tensor parallelism: it trains pieces of parameters, the forward sees DTensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....functions.parameter import Parameter
from .. import DTensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []


def _pre_dp_module_transform(module: Any) -> None:
    """Let modules have this process's pieces in place of DTensors, but for while a forward of ``module`` runs."""
    _replace(module, _cut)
    module.register_forward_pre_hook(lambda m, args: _replace(m, _together))
    module.register_forward_hook(lambda m, args, output: _replace(m, _apart), always_call=True)


def _replace(module: Any, by: Callable[[Any], Any]) -> None:
    made: dict[int, Any] = {}  # a parameter that several modules have stays one
    for part in module.modules():
        for name, p in part._parameters.items():
            if p is not None:
                part._parameters[name] = made[id(p)] = made[id(p)] if id(p) in made else by(p)


def _cut(p: Any) -> Any:
    if not isinstance(p, DTensor):
        return p
    piece: Any = Parameter(p._local_tensor.detach(), requires_grad=p.requires_grad)
    piece._wg_lies = p._spec
    return piece


def _together(p: Any) -> Any:
    spec = getattr(p, "_wg_lies", None)
    if spec is None:
        return p
    whole = DTensor.from_local(p, spec.mesh, spec.placements, shape=spec.shape, stride=spec.stride)
    whole._wg_piece = p  # type: ignore[attr-defined]
    return whole


def _apart(p: Any) -> Any:
    return getattr(p, "_wg_piece", p)
