"""``FlopCounterMode``: how many floating-point operations the products, convolutions and attentions of a program take.

A dispatch mode that looks at the shapes of what passes; a multiplication and an addition count as two. Modules are
followed by hooks, so that the counts can be shown module by module.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from math import prod
from typing import TYPE_CHECKING, Any

from ..dispatch.torch_dispatch import OpOverload, aten
from ..tensor.tensor import Tensor
from ._python_dispatch import TorchDispatchMode
from .module_tracker import ModuleTracker

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

flop_registry: dict[Any, Callable[..., int]] = {}


def _shape(x: Any) -> Any:
    if isinstance(x, Tensor):
        return tuple(x.shape)
    return type(x)(_shape(v) for v in x) if type(x) in (list, tuple) else x


def shape_wrapper(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f``, given shapes in place of tensors, and the result's as ``out_shape``."""

    @functools.wraps(f)
    def by_shape(*args: Any, out_val: Any = None, **kwargs: Any) -> Any:
        return f(*_shape(list(args)), out_shape=_shape(out_val), **{k: _shape(v) for k, v in kwargs.items()})

    return by_shape


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Say how an operator (``torch.ops.aten.NAME``, or a list of them) is counted.

    The function decorated receives the arguments with shapes in place of tensors, and ``out_shape``; with
    ``get_raw`` the tensors themselves, and ``out_val``.
    """

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else shape_wrapper(formula)
        return formula

    return register


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A matrix product ``(n, k) @ (k, m)``."""
    return int(a_shape[0] * a_shape[1] * 2 * b_shape[1])


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A matrix product; the sum comes free."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A batch of matrix products."""
    return int(a_shape[0] * a_shape[1] * b_shape[2] * 2 * a_shape[2])


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A batch of matrix products; the sum comes free."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """A convolution: every output element (input element, if transposed) meets the whole kernel."""
    batch, places = x_shape[0], (x_shape if transposed else out_shape)[2:]
    first, second, *kernel = w_shape
    return int(prod(places) * prod(kernel) * batch * first * second * 2)


@register_flop_formula(aten.convolution, get_raw=True)
def _conv(x: Any, w: Any, *args: Any, out_val: Any = None, **kwargs: Any) -> int:
    return conv_flop_count(x.shape, w.shape, out_val.shape)


@register_flop_formula(aten.convolution_backward, get_raw=True)
def _conv_backward(g: Any, x: Any, w: Any, *args: Any, out_val: Any = None, **kwargs: Any) -> int:
    transposed, mask, count = args[4], args[-1], 0
    if mask[0]:
        count += conv_flop_count(g.shape, w.shape, out_val[0].shape, not transposed)
    if mask[1]:
        count += _conv_weight(*((g, x) if transposed else (x, g)), out_val=out_val[1])
    return count


@register_flop_formula(aten.convolution_backward.input, get_raw=True)
def _conv_input(g: Any, w: Any, *args: Any, out_val: Any = None, **kwargs: Any) -> int:
    return conv_flop_count(g.shape, w.shape, out_val.shape, transposed=True)


@register_flop_formula(aten.convolution_backward.weight, get_raw=True)
def _conv_weight(x: Any, g: Any, *args: Any, out_val: Any = None, **kwargs: Any) -> int:
    # every element of the gradient meets every place of the kernel
    (batch, out, *places), kernel = g.shape, out_val.shape[2:]
    return int(x.shape[1] * prod(kernel) * out * batch * prod(places) * 2)


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Attention: the scores, and their product with the values."""
    b, h, s_q, d_q = query_shape
    s_k, d_v = key_shape[-2], value_shape[-1]
    return bmm_flop((b * h, s_q, d_q), (b * h, d_q, s_k)) + bmm_flop((b * h, s_q, s_k), (b * h, s_k, d_v))


@register_flop_formula(aten._scaled_dot_product_flash_attention_for_cpu)
def _sdpa(query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    *batch, _, _ = query_shape
    shapes = ((1, prod(batch), *s[-2:]) for s in (query_shape, key_shape, value_shape))
    return sdpa_flop_count(*shapes)


class FlopCounterMode(TorchDispatchMode):
    """Counts the floating-point operations inside ``with``, forward and backward; prints a table at the end if
    ``display``.

    ``depth``: how deep the table goes into modules. ``custom_mapping``: further formulas, as ``{torch.ops.aten.NAME:
    f(*args, out_shape=...)}``.

    >>> from wengert.utils.flop_counter import FlopCounterMode
    >>> w = torch.ones(4, 5, requires_grad=True)
    >>> with FlopCounterMode(display=False) as counter:
    ...     (torch.ones(3, 4) @ w).sum().backward()
    >>> counter.get_total_flops()
    240
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        super().__init__()
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.flop_registry = {**flop_registry}
        for target, formula in (custom_mapping or {}).items():
            self.flop_registry[target] = formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
        self.mod_tracker = ModuleTracker()
        if mods is not None:
            import warnings

            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """``{module: {operator: count}}``; ``"Global"`` is everything."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text, a row for each module down to ``depth``, and below it one for each of its operators."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows: list[tuple[str, str, str]] = []

        def add(name: str, indent: int) -> None:
            count = sum(self.flop_counts[name].values())
            rows.append((" " * indent + name, _short(count, total), _share(count, total)))
            for op, n in self.flop_counts[name].items():
                rows.append((" " * indent + f" - {op}", _short(n, total), _share(n, total)))

        for name in sorted(self.flop_counts):
            if name != "Global" and (level := name.count(".") + 1) <= depth:
                add(name, level)
        if "Global" in self.flop_counts and total:
            below, rows = rows, []
            add("Global", 0)
            rows += below
        head = ("Module", "FLOP", "% Total")
        if not rows:
            rows = [("Global", "0", "0%")]
        widths = [max(len(r[i]) for r in (head, *rows)) for i in range(3)]
        lines = [f"{a.ljust(widths[0])}  {b.rjust(widths[1])}  {c.rjust(widths[2])}" for a, b, c in (head, *rows)]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])

    def __enter__(self) -> Any:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        formula = self.flop_registry.get(func) or self.flop_registry.get(func.overloadpacket)
        if formula is not None:
            count = formula(*args, **(kwargs or {}), out_val=out)
            for name in {"Global", *self.mod_tracker.parents}:
                self.flop_counts[name][func.overloadpacket] += count
        return out


def _short(count: int, total: int) -> str:
    """``count`` with the prefix that suits ``total``."""
    letters = ("", "K", "M", "B", "T")
    power = max(0, min(len(letters) - 1, (len(str(total)) - 1) // 3))
    return f"{count / 1000**power:.3f}{letters[power]}" if power else str(count)


def _share(count: int, total: int) -> str:
    return f"{count / total:.2%}" if total else "0%"
