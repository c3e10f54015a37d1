"""An operator on DTensors: look how its arguments lie, bring them together, run it on the pieces.

``RULES`` says for the operators of a family how arguments may lie on one dimension of the mesh, and how results then
do. The cheapest way is taken for each dimension by itself. That all lie everywhere is always a way, and the only one
of an operator without a rule. ``RUNS`` has what runs on the pieces where that is not the operator itself.
"""

from __future__ import annotations

from typing import Any

from ...dispatch.torch_dispatch import aten
from ...tensor import classes
from ...tensor.namespaces import calling
from ._call import Call, Plan, choose, geometry_of_results, key_of
from ._redistribute import redistribute_local_tensor
from ._rules import RULES, RUNS, pointwise_names
from ._rules.pointwise import elementwise
from ._rules.rows import ALONG_CLASSES
from ._spec import whole
from .placement_types import Replicate

HANDLERS: dict[str, Any] = {}
_PLANS: dict[Any, Plan] = {}
IMPLICIT: list[bool] = []  # not empty while plain tensors count as replicated


def dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``DTensor.__torch_dispatch__`` does."""
    handler = HANDLERS.get(func._opname)
    if handler is not None:
        return handler(func, args, kwargs)
    call = Call(func, args, kwargs)
    if len(call.tensors) != len(call.spread):
        _check_plain(call)
    plan = plan_of(call)
    args, kwargs = call.replaced(
        [local_of(t, call.mesh, target) for t, target in zip(call.tensors, plan.targets)])
    run = RUNS.get(call.base)
    found = func(*args, **kwargs) if run is None else run(call, plan, args, kwargs)
    if call.inplace:
        return call.args[0]
    return _spread(found, plan.outs, call)


_class: list[Any] = []  # DTensor, which registers itself


def register(cls: Any) -> Any:
    """Let results be of this class."""
    _class[:] = [cls]
    return cls


def local_of(t: Any, mesh: Any, target: tuple[Any, ...]) -> Any:
    """This process's piece of an argument, lying as ``target`` says."""
    spec = getattr(t, "_spec", None)
    if spec is None:
        if all(isinstance(p, Replicate) for p in target):
            return t
        spec, local = _class[0]._around(t, mesh, whole(mesh.ndim), t.shape, t.stride())._spec, t
    else:
        local = t._local_tensor
        if spec.mesh is not mesh and spec.mesh != mesh:
            raise RuntimeError(f"DTensor operators need all DTensors to be on the same device mesh, but got {mesh} and "
                f"{spec.mesh}")
    return local if spec.placements == target else redistribute_local_tensor(local, spec, spec.with_placements(target))


def _spread(found: Any, outs: Any, call: Call) -> Any:
    if isinstance(found, (tuple, list)):
        return type(found)(_spread(v, o, call) for v, o in zip(found, outs))
    if not isinstance(found, classes.Tensor_) or outs is None:
        return found
    placements, shape, stride = outs
    return _class[0]._around(found, call.mesh, placements, shape, stride)


def _check_plain(call: Call) -> None:
    """Refuse a plain tensor among DTensors, unless it is a number or one that an operator has made itself."""
    if calling.was_internal or IMPLICIT or ALONG_CLASSES or call.base in ("masked_scale", "copy", "index"):
        return
    for t in call.tensors:
        if not hasattr(t, "_spec") and t.numel() != 1:
            raise RuntimeError(f"{call.func} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
                "DTensor before calling distributed operators! Please see https://docs.pytorch.org/docs/main/"
                "distributed.tensor.html#mixed-tensor-and-dtensor-operations for more details.")


def plan_of(call: Call) -> Plan:
    """The plan of a call, of an earlier one with such arguments if there was one."""
    try:
        key = (call.func, bool(ALONG_CLASSES), key_of(call.args), tuple((k, key_of(v)) for k, v in call.kwargs.items()))
        plan = _PLANS.get(key)
    except TypeError:
        return _planned(call)
    if plan is None:
        plan = _PLANS[key] = _planned(call)
    return plan


def _planned(call: Call) -> Plan:
    rule = RULES.get(call.base)
    if rule is None and call.base in pointwise_names():
        rule = elementwise
    everywhere = (Replicate(), [Replicate()] * len(call.tensors))
    candidates = [everywhere, *(rule(call) if rule is not None else ())]
    outs, ins = choose(call, candidates)
    targets = [tuple(row[k] for row in ins) for k in range(len(call.tensors))]
    if call.inplace:
        return Plan(targets, None)
    shapes = geometry_of_results(call)
    if type(shapes) is list:
        several = [tuple(o[k] if isinstance(o, (list, tuple)) else o for o in outs) for k in range(len(shapes))]
        return Plan(targets, [None if g is None else (p, *g) for p, g in zip(several, shapes)])
    placements = tuple(o[0] if isinstance(o, (list, tuple)) else o for o in outs)
    return Plan(targets, None if shapes is None else (placements, *shapes))


# -- operators that are no computation --------------------------------------------------------------------------------


def handler(*names: str) -> Any:
    """A decorator: the function does all that is done for these operators."""

    def put(f: Any) -> Any:
        HANDLERS.update(dict.fromkeys(names, f))
        return f

    return put


@handler("detach", "alias")
def _detach(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    spec = args[0]._spec
    return type(args[0])._around(args[0]._local_tensor.detach(), spec.mesh, spec.placements, spec.shape, spec.stride)


@handler("_local_scalar_dense")
def _number(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0]._local_tensor.item()  # of what is still to be reduced too


@handler("equal")
def _equal(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    mesh = next(t for t in args if hasattr(t, "_spec"))._spec.mesh
    return bool(func(*(local_of(t, mesh, whole(mesh.ndim)) for t in args)))


@handler("is_same_size")
def _same_size(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0].shape == args[1].shape


__all__ = ["HANDLERS", "IMPLICIT", "aten", "dispatch", "handler", "local_of"]
