"""Optimizers that update each parameter from its own gradient and state: the loop that they share.

A subclass names its state and gives the formula twice: on arrays (``_update``, through the kernels of
``wengert.arrays``) and, for ``differentiable=True``, on tensors (``_change``), where gradients flow through the step.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays.array_likes import NESTED
from wengert.arrays.dtypes import F32, F64, default_float, of
from wengert.arrays.storageless import META_DEVICE
from wengert.functions.creation import tensor
from wengert.graph import set_grad_enabled
from wengert.graph.modes import modes
from wengert.tensor import Tensor, wrap
from wengert.tensor.classes import DISPATCHING

from .optimizer import Optimizer, evaluated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .optimizer import ParamsT

    Arrays = Sequence[np.ndarray]
    Group = dict[str, Any]
    State = dict[str, Any]
    Numbers = tuple[Any, ...]

_CAPTURABLE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone", "xla"]
_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
_LATE_OPTIONS = {
    "amsgrad": False, "capturable": False, "centered": False, "decoupled_weight_decay": False, "differentiable": False,
    "foreach": None, "fused": None, "maximize": False, "momentum": 0, "nesterov": False,
}  # what old state dicts may lack


def number(value: Any) -> Any:
    """An option as a number; a one-element tensor as a NumPy scalar, whose arithmetic rounds as the tensor's would."""
    return value._wg_data.reshape(())[()] if isinstance(value, Tensor) else value


def scalar(value: Any) -> Any:
    """An option for tensor arithmetic: one-element tensors without dimensions, anything else as it is."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() != 0 else value


def counter(value: float, fused: bool = False) -> Tensor:
    """A number of the state, such as ``step``: a 0-d float32 tensor, float64 where that is the default dtype."""
    if modes().dispatch:  # which see what is made
        return tensor(float(value), dtype=of(F64 if default_float() == F64 and not fused else F32))
    return wrap(np.array(value, F64 if default_float() == F64 and not fused else F32))


def zeros_like(p: Tensor) -> Tensor:
    """Fresh state of the shape, dtype and memory layout of ``p``."""
    return filled_like(p, 0)


def watched(params: Any) -> bool:
    """Whether some parameter, or its gradient, has no numbers to look at: their classes do the step."""
    if not (DISPATCHING or META_DEVICE or NESTED):
        return False
    return any(p._wg_opaque or (p._wg_meta is not None and p._wg_meta.grad is not None and p._wg_meta.grad._wg_opaque)
        for p in params)


def piece(t: Any) -> Tensor:
    """What of a tensor this process has: of a ``DTensor`` its piece, of another all."""
    return t if getattr(t, "_spec", None) is None else t._local_tensor  # type: ignore[no-any-return]


def lies_as(t: Any, p: Any) -> bool:
    """Whether the pieces of ``t`` and ``p`` have the same places, so that each process can compute with its own."""
    own, spec = getattr(t, "_spec", None), getattr(p, "_spec", None)
    return not piece(t)._wg_opaque and (own is spec or (own is not None and spec is not None
        and own.placements == spec.placements and own.mesh == spec.mesh))


def as_lies(t: Any, p: Any) -> Tensor:
    """A ``DTensor`` with its pieces where those of ``p`` are."""
    return t.redistribute(p.device_mesh, p.placements)  # type: ignore[no-any-return]


def filled_like(p: Tensor, value: Any) -> Tensor:
    """``zeros_like`` with another number, of the class of ``p`` if that dispatches, and on its device."""
    if p.is_nested:
        return p.detach().clone().fill_(value)
    if p._wg_opaque:
        from wengert.functions.creation import full_like

        return full_like(p.detach(), value)  # type: ignore[no-any-return]
    return wrap(np.full_like(p._wg_data, value) if value else np.zeros_like(p._wg_data))


def check(**options: Any) -> None:
    """Refuse negative options, ``betas`` outside of ``[0, 1)``, and an ``lr`` that is not one number."""
    for name, value in options.items():
        if name == "lr" and isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if name == "betas":
            for i in range(2):
                if not 0.0 <= value[i] < 1.0:
                    raise ValueError(f"Invalid beta parameter at index {i}: {value[i]}")
        elif not value >= 0.0:
            raise ValueError(f"Invalid {'learning rate' if name == 'lr' else f'{name} value'}: {value}")


def decayed(p: Tensor, grad: Tensor, weight_decay: Any) -> Tensor:
    """``grad + weight_decay * p``, recorded; the decay may itself be a tensor that requires a gradient."""
    return grad + weight_decay * p.clone() if isinstance(weight_decay, Tensor) or weight_decay != 0 else grad


def blended(old: Tensor, new: Tensor, weight: Any) -> Tensor:
    """A running average that takes ``weight`` of the new value, recorded."""
    return old + (new - old) * weight


def places(grad: Any) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Where a sparse gradient has values, as one index array per sparse dimension, and the values; each place once."""
    grad = grad.coalesce()
    return tuple(grad._indices()._wg_data), grad._values()._wg_data


class PerParameter(Optimizer):
    """The step of an optimizer that treats every parameter alike and by itself."""

    # State that is one number, and its start; parameters that agree in these numbers are updated together.
    _scalars: dict[str, float] = {"step": 0.0}
    _arrays: tuple[str, ...] = ()  # state of the shape of the parameter
    _sparse_hint = ""  # what the refusal of sparse gradients adds

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        if defaults.get("fused"):
            if defaults["differentiable"]:
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults["foreach"]:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
            self._step_supports_amp_scaling = True  # ``GradScaler`` leaves the unscaling to the step

    # -- what a subclass gives ----------------------------------------------------------------------------------------

    def _buffers(self, group: Group) -> tuple[str, ...]:
        """The names of the state arrays that ``_update`` takes for this group."""
        return self._arrays

    def _begin(self, group: Group, p: Tensor) -> State:
        """The state of a parameter before its first update."""
        state: State = {name: counter(start, bool(group.get("fused"))) for name, start in self._scalars.items()}
        return state | {name: zeros_like(p) for name in self._buffers(group)}

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> Numbers | None:
        """Update parameters that share ``numbers``, the state in ``_scalars`` with the step counted on.

        ``columns`` are the lists of params, grads, and each of ``_buffers``. Gives the numbers after the step count.
        """
        raise NotImplementedError

    def _change(self, group: Group, p: Tensor, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        """What the same update adds to one (real) parameter, in tensor operations; puts new tensors into ``state``."""
        raise NotImplementedError

    def _update_sparse(self, group: Group, p: Tensor, grad: Tensor) -> None:
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients{self._sparse_hint}")

    # -- the loop -----------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; ``closure``, if given, evaluates the model again and returns the loss."""
        loss = None if closure is None else evaluated(closure)
        if self._overflowed():
            return loss
        for group in self.param_groups:
            if group.get("capturable"):
                self._check_capturable(group)
            if group.get("differentiable"):
                with set_grad_enabled(self.defaults["differentiable"]):
                    self._step_recorded(group, group["params"])
            elif watched(group["params"]):
                ways: tuple[list[Tensor], list[Tensor]] = [], []
                for p in group["params"]:
                    ways[self._in_pieces(group, p)].append(p)
                with set_grad_enabled(False):
                    self._step_recorded(group, ways[False])
                self._step_arrays(group, ways[True])
            else:
                self._step_arrays(group, group["params"])
        return loss

    def _in_pieces(self, group: Group, p: Tensor) -> bool:
        """Whether the step of ``p`` can be done with the pieces of this process, for each element by itself."""
        return p.grad is None or (lies_as(p.grad, p) and lies_as(p, p) and all(lies_as(v, p)
            for name in self._buffers(group) if (v := self.state[p].get(name)) is not None))

    def _step_arrays(self, group: Group, params: Sequence[Tensor]) -> None:
        scalars, buffers = self._scalars, self._buffers(group)
        together: dict[Any, list[tuple[Any, ...]]] = {}
        sparse = []
        enter = self._enter
        for p in params:
            meta = p._wg_meta
            grad = None if meta is None else meta.grad
            if grad is None:
                continue
            if grad.is_sparse:
                sparse.append((p, grad))
                continue
            state, numbers = enter(group, p)
            rows = together.get(numbers)
            if rows is None:
                rows = together[numbers] = []
            if p._wg_opaque:
                rows.append((p, state, *[piece(t)._wg_data for t in (p, grad, *[state[name] for name in buffers])]))
            else:
                rows.append((p, state, p._wg_data, grad._wg_data, *[state[name]._wg_data for name in buffers]))
        for p, grad in sparse:
            self._update_sparse(group, p, grad)
        for numbers, rows in together.items():
            tensors, states, *columns = zip(*rows)
            if scalars:
                numbers = (float(numbers[0]) + 1, *numbers[1:])
            others = self._update(group, numbers, *columns)
            new = numbers if others is None else (numbers[0], *others)
            for p, state in zip(tensors, states):
                p._wg_vc[0] += 1
                if p._wg_opaque:
                    piece(p)._wg_vc[0] += 1
                if not state:
                    continue
                for name in buffers:
                    state[name]._wg_vc[0] += 1
                for name, value in zip(scalars, new):
                    state[name]._wg_data.fill(value)
                    state[name]._wg_vc[0] += 1

    def _step_recorded(self, group: Group, params: Sequence[Tensor]) -> None:
        for p in params:
            grad = p.grad
            if grad is None:
                continue
            if group.get("foreach") and group.get("differentiable"):
                raise AssertionError("_foreach ops don't support autograd")
            if grad.is_sparse:
                self._update_sparse(group, p, grad)
                continue
            if None not in (getattr(p, "_spec", None), getattr(grad, "_spec", None)) and not lies_as(grad, p):
                grad = as_lies(grad, p)  # once, not for each operation below
            self._update_recorded(group, p, grad)

    def _update_recorded(self, group: Group, p: Tensor, grad: Tensor) -> None:
        state, numbers = self._enter(group, p)
        if "step" in state and state["step"].requires_grad:
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        if self._scalars:
            numbers = (float(numbers[0]) + 1, *numbers[1:])
            state["step"].fill_(numbers[0])
        if group["maximize"]:
            grad = -grad
        if not p.is_complex():
            p.add_(self._change(group, p, grad, state, numbers))
            return
        from wengert import view_as_complex, view_as_real

        parts = {name: view_as_real(value) if value.is_complex() else value for name, value in state.items()}
        p.add_(view_as_complex(self._change(group, view_as_real(p), view_as_real(grad), parts, numbers)))
        for name, value in parts.items():
            state[name] = view_as_complex(value) if state[name].is_complex() else value

    def _enter(self, group: Group, p: Tensor) -> tuple[State, Numbers]:
        """The state of a parameter, made at its first update, and its numbers."""
        state: State = self.state[p]
        if not state:
            if group.get("fused"):
                check_fused(p)
            state.update(self._begin(group, p))
        row = [state[name] for name in self._scalars]
        return state, tuple([v._wg_data[()] if type(v._wg_data) is np.ndarray and v._wg_data.ndim == 0 else v.item()
            for v in row])  # programs that share a state between processes make one of one dimension

    # -- options ------------------------------------------------------------------------------------------------------

    def _overflowed(self) -> bool:
        """Undo the loss scale that ``GradScaler`` left to this step; whether to skip it.

        Only with ``fused=True`` does the scaler set ``grad_scale`` and ``found_inf`` here.
        """
        found_inf, scale = getattr(self, "found_inf", None), getattr(self, "grad_scale", None)
        if found_inf is None and scale is None:
            return False
        if not all(group.get("fused") for group in self.param_groups):
            raise AssertionError("Expected grad_scale and found_inf to be None")
        if found_inf is not None and found_inf.item():
            return True
        if scale is not None:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad._wg_data[...] /= scale.item()
                        p.grad._wg_vc[0] += 1
        return False

    def _check_capturable(self, group: Group) -> None:
        if any(p.grad is not None and p.device.type not in _CAPTURABLE_DEVICES for p in group["params"]):
            *names, last = ["params", *(f"{name}s" for name in list(self._scalars)[1:]), "state_steps"]
            raise AssertionError(f"If capturable=True, {', '.join(names)} and {last} must be on supported devices: "
                f"{_CAPTURABLE_DEVICES}.")

    def __setstate__(self, state: State) -> None:
        super().__setstate__(state)
        options = self.defaults.keys() | signature(type(self)).parameters.keys()
        for group in self.param_groups:
            for name, value in _LATE_OPTIONS.items():
                if name in options:
                    group.setdefault(name, value)
            for p in group["params"]:
                mine: dict[str, Any] = self.state.get(p) or {}
                for name in self._scalars:
                    if name in mine and not isinstance(mine[name], Tensor):  # state dicts of old hold plain numbers
                        mine[name] = counter(float(mine[name]), bool(group.get("fused")))


def check_fused(p: Tensor) -> None:
    """Refuse ``fused=True`` for anything but floating point."""
    if not p.is_floating_point():
        raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices: "
            f"{_FUSED_DEVICES} but {p.dtype} and {p.device.type}")
