"""Gradients that are one operator of PyTorch, for dispatch modes and tensors that dispatch.

In a backward that they see, most nodes run the rules of the table, in recorded operators. Where PyTorch has one
operator for the gradient (``aten.convolution_backward``, ``aten.nll_loss_backward``), ``AS_ONE`` has its name and
arguments, and what it computes is the rule on arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.modes import modes
from ..ops.operator import TABLE
from ..tensor.functions import function
from ..tensor.namespaces import RAW, RECORDED, within_operators
from ..tensor.record import OpNode
from .aten_networks import REDUCTIONS, convolution_backward
from .decompositions import _ARRANGED, BACKWARD
from .meta_device import all_without
from .torch_dispatch import ask, aten, detached

if TYPE_CHECKING:
    from collections.abc import Callable


def gradients(node: OpNode, g: Any, needs: Any) -> Any:
    """The gradients of ``node`` in recorded operators."""
    m = modes()
    if not (m.dispatch or "keeps_tensors" in node.__dict__):
        return node._gradients(RECORDED, g, needs)
    if type(node)._gradients is not OpNode._gradients:  # a part of what was one step
        with within_operators():
            return node._gradients(RECORDED, g, needs)
    op = node.op
    values = node._values(RECORDED)
    # a result comes out of the node's keeping as another tensor
    for name in op.outputs if op.outputs is not ... else ():
        if values.get(name) is not None and not values[name]._wg_dispatches and name not in op.nondifferentiable:
            taken = detached(values[name], m)
            if not m.grad and not m.levels:
                values[name] = taken
    with within_operators():
        found = None if m.grad or m.levels else AS_ONE.get(op.name)
        if found is None or (op.joint is not None and not callable(found)):
            return node._gradients(RECORDED, g, needs, values)
        if type(g) is list and len(g) == 1:
            g = g[0]
        values.update(seen=node.__dict__.get("seen", {}), shapes=node.shape, dtypes=node.dtype)
        answer = found(g, values, needs) if callable(found) else _by(found, node, g, values, needs)
        return node._gradients(RECORDED, g, needs, values) if answer is None else answer


def _by(rules: Any, node: OpNode, g: Any, values: Any, needs: Any) -> Any:
    """The gradients one by one, in the order of PyTorch's names of the arguments; those without a formula by the rule
    of the table.
    """
    op, found = node.op, {}
    for i, p in sorted(enumerate(op.wrt), key=_their_name):
        if not needs[i]:
            continue
        formula = rules.get(p)
        if type(formula) is tuple:
            formula = None if g is None else _one(node, p, *formula)
        answer = NotImplemented if formula is None else formula(g, values)
        if answer is NotImplemented:
            rule, names = op.rules[i]
            answer = rule(RECORDED, g, *[values[n] for n in names])
        found[p] = answer
    return [found.get(p) for p in op.wrt]


def _their_name(place: tuple[int, str]) -> str:
    return "self" if place[1] == "input" else place[1]


# -- one operator for a rule -------------------------------------------------------------------------------------------

_OF_LOSS = ("g", "input", "target", "reduction")
_REDUCTIONS = {word: number for number, word in enumerate(REDUCTIONS)}

def _convolution(g: Any, v: Any, needs: Any) -> Any:
    if "bias" not in v["seen"] or any(t.is_complex() for t in (g, v["input"], v["weight"])):
        return None
    n = v["weight"].ndim - 2
    sizes = None if v["seen"]["bias"] is None else [g.shape[1]]
    how = [list(v[k]) * (n if len(v[k]) == 1 else 1) for k in ("stride", "padding", "dilation")]
    args = (g, v["input"], v["weight"], sizes, *how, False, [0] * n, v["groups"], [bool(b) for b in needs])
    return list(ask(aten.convolution_backward.default, convolution_backward, False, args, {}, modes()))


# our operator -> by argument: PyTorch's operator, and what it is called with: names of values, and constants behind "="
AS_ONE: dict[str, Any] = {
    "convolution_forward": _convolution,
    "mse_loss": {"input": ("mse_loss_backward", _OF_LOSS),
        "target": ("mse_loss_backward", ("g", "target", "input", "reduction"))},
    "smooth_l1": {"input": ("smooth_l1_loss_backward", (*_OF_LOSS, "beta")),
                  "target": ("smooth_l1_loss_backward", ("g", "target", "input", "reduction", "beta"))},
    "huber": {"input": ("huber_loss_backward", (*_OF_LOSS, "delta")),
              "target": ("huber_loss_backward", ("g", "target", "input", "reduction", "delta"))},
    "softshrink": {"input": ("softshrink_backward", ("g", "input", "lambd"))},
    "hardshrink": {"input": ("hardshrink_backward", ("g", "input", "lambd"))},
    "threshold": {"input": ("threshold_backward", ("g", "input", "threshold"))},
    "relu6": {"input": ("hardtanh_backward", ("g", "result", "=0.0", "=6.0"))},
    "glu": {"input": ("glu_backward", ("g", "input", "dim"))},
    "nll": {"input": ("nll_loss_backward", ("g", "input", "target", "weight", "reduction", "ignore_index"))},
    "logit": {"input": ("logit_backward", ("g", "input", "eps"))},
    "unfold": {"input": ("unfold_backward", ("g", "input_shape", "dimension", "size", "step"))},
    "embedding_rows": {"weight": ("embedding_dense_backward", ("g", "indices", "rows", "padding_idx", "by_frequency"))},
    "embedding_take": {"input": ("embedding_dense_backward", ("g", "indices", "rows", "padding_idx", "by_frequency"))},
    "max_pool_windows": {"input": ("max_pool2d_with_indices_backward",
                                   ("g", "input", "kernel", "stride", "padding", "dilation", "ceil_mode", "indices"))},
    "adaptive_max_windows": {"input": ("adaptive_max_pool2d_backward", ("g", "input", "indices"))},
    "avg_pool_windows": {"input": ("avg_pool2d_backward",
        ("g", "input", "kernel", "stride", "padding", "ceil_mode", "include", "override"))},
}  # fmt: skip


def _one(node: OpNode, param: str, name: str, spec: tuple[str, ...]) -> Callable[..., Any]:
    rule, names = node.op.rules[node.op.wrt.index(param)]

    def call(g: Any, v: dict[str, Any]) -> Any:
        given = {"g": g, **v}
        if "rows" in spec:
            given["rows"] = (v["weight_shape"] if "weight_shape" in v else v["input_shape"])[0]
        if "input" in spec and "input" not in v:  # no number of it is looked at
            given["input"] = RAW.wrap(np.broadcast_to(np.zeros((), g._wg_data.dtype), v["input_shape"]))
        row = [_shown(n, given) for n in spec]

        def run(*args: Any, **kwargs: Any) -> Any:
            known = {**given, **dict(zip(spec, args))}
            for n in ("reduction", "padding_idx"):  # as we have them
                if n in spec:
                    known[n] = given[n]
            if any(getattr(known[n], "is_meta", False) for n in ("g", *names)):  # there are no numbers for a kernel
                return all_without(rule(RECORDED, *(known[n] for n in ("g", *names))))
            return RAW.wrap(rule(RAW, *(_raw(known[n]) for n in ("g", *names))))

        return ask(getattr(aten, name).default, run, False, tuple(row), {}, modes())

    return call


def _shown(name: str, values: dict[str, Any]) -> Any:
    if name.startswith("="):
        return float(name[1:])
    value = values[name]
    if name == "reduction":
        return _REDUCTIONS.get(value, value)
    if name == "padding_idx" and value is None:
        return -1
    return list(value) if type(value) is tuple and all(type(n) is int for n in value) else value


def _raw(value: Any) -> Any:
    if type(value) is list:
        return tuple(map(_raw, value))
    return RAW.unwrap(value) if hasattr(value, "_wg_data") else value


def as_function(name: str) -> Callable[..., Any] | None:
    """PyTorch's operator ``name``, which is a gradient rule of ours, as a function of its arguments; None if it is
    none.
    """
    ours = next((n for n, theirs in BACKWARD.items() if theirs == name and not theirs.startswith("native")), None)
    if ours is not None:
        back = _ARRANGED[ours][1] if ours in _ARRANGED else None
        return lambda *args, **kwargs: function(ours)(*(args if back is None else back(*args, *kwargs.values())))
    for op_name, params in AS_ONE.items():
        for p, (theirs, spec) in (() if callable(params) else params.items()):
            op: Any = TABLE[op_name]
            rule, names = op.rules[op.wrt.index(p)]
            if theirs == name and set(names) <= {*spec, *_DERIVED}:
                return _of_arguments(rule, names, spec)
    return None


_DERIVED = ("input_shape", "weight_shape")  # what an argument tells


def _of_arguments(rule: Any, names: tuple[str, ...], spec: tuple[str, ...]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        known: dict[str, Any] = {**dict.fromkeys(spec), **dict(zip(spec, (*args, *kwargs.values())))}
        if "reduction" in known:
            known["reduction"] = REDUCTIONS[known["reduction"]]
        if "rows" in known:
            known["input_shape"] = known["weight_shape"] = (known["rows"], known["g"].shape[-1])
        # one image, for pooling
        single = "input" in known and ("kernel" in spec or "indices" in spec) and known["input"].dim() == 3
        if single:
            known.update({n: known[n].unsqueeze(0) for n in ("g", "input", "indices") if n in known})
        answer = rule(RECORDED, known["g"], *(tuple(known[n]) if type(known[n]) is list else known[n] for n in names))
        return answer.squeeze(0) if single else answer

    return call
