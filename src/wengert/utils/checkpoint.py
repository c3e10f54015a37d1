"""Gradient checkpointing: forget what a part of the network saved, and compute it again when backward needs it.

Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016). The default recomputes through saved-tensor
hooks, so that any graph, hook or keyword argument works; ``use_reentrant=True`` is the older form, a custom Function
that runs a backward of its own.
"""

from __future__ import annotations

import weakref
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ..autograd._function_node import SavedTensor
from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks
from ..graph.engine import current_walk
from ..graph.modes import change, enable_grad, is_grad_enabled, modes, no_grad
from ..tensor.backward import backward as run_backward
from ..tensor.random import fork_rng, get_rng_state, set_rng_state
from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn", "set_checkpoint_early_stop"]


class CheckpointError(RuntimeError):
    """The recomputation did not do what the first computation did."""


class _EnoughError(Exception):
    """Everything that was asked for has been recomputed."""


_early_stop = True


class set_checkpoint_early_stop:
    """Whether a recomputation stops as soon as it has what it needs (default), inside ``with``."""

    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def __enter__(self) -> None:
        global _early_stop
        self.before, _early_stop = _early_stop, self.enable

    def __exit__(self, *exc: object) -> None:
        global _early_stop
        _early_stop = self.before


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing: the default for ``context_fn``."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, context_fn: Callable[[], Any] = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """``function(*args, **kwargs)`` without keeping its intermediate values: backward computes them again.

    ``preserve_rng_state`` (keyword, default True): the second run draws the same random numbers. ``context_fn`` gives
    two contexts, for the first run and for the second. ``determinism_check``: ``"default"`` compares shapes and types
    of what is saved, ``"none"`` does not.

    Raises ``CheckpointError`` if the second run saves other tensors than the first.

    >>> import wengert as torch
    >>> from wengert.utils.checkpoint import checkpoint
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> checkpoint(lambda t: t.exp() * t, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([1.0000, 5.4366])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        import warnings

        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve "
            "the current default behavior, you can pass use_reentrant=True.",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return _Reentrant.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    if not is_grad_enabled():
        with forward_context:
            return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs, preserve, recompute_context, determinism_check, early_stop and _early_stop, debug)
    with frame.recording(), forward_context:
        answer = function(*args, **kwargs)
    frame.finished = True
    return answer


@contextmanager
def observed(observers: tuple[Any, ...]) -> Iterator[None]:
    """Inside, operations are seen by ``observers`` and nobody else."""
    before = change(observers=observers).observers
    try:
        yield
    finally:
        change(observers=before)


class _Holder:
    """Stands in the graph for a tensor that will be computed again; ``number`` is its place in the order of saving."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number


class _Frame:
    """One checkpointed call: how to run it again, what it saved, and what a running backward has recomputed."""

    def __init__(self, function: Any, args: Any, kwargs: Any, preserve: bool, context: Any, check: str, early_stop: bool, debug: bool) -> None:
        self.function, self.kwargs, self.context, self.early_stop, self.check = function, kwargs, context, early_stop, check
        packing = modes().packing
        # Inputs are saved like any other tensor: inside an outer checkpoint they too are forgotten and recomputed.
        self.inputs = [(True, SavedTensor(a, None, packing), a.requires_grad) if isinstance(a, Tensor) else (False, a, False) for a in args]
        self.state = get_rng_state() if preserve else None
        self.observers = modes().observers  # autocast among them: the second run casts as the first did
        self.holders: list[Any] = []
        self.facts: list[Any] = []
        self.recomputed: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()
        self.loose: dict[int, Any] | None = None  # recomputed for somebody outside a backward
        self.finished = False

    def recording(self) -> saved_tensors_hooks:
        def pack(t: Any) -> _Holder:
            holder = _Holder(len(self.holders))
            self.holders.append(weakref.ref(holder))
            self.facts.append((tuple(t.shape), t.dtype))
            return holder

        return saved_tensors_hooks(pack, self.unpack)

    def unpack(self, holder: _Holder) -> Any:
        walk = current_walk()
        table = self.loose if walk is None else self.recomputed.get(walk)
        if table is None or holder.number not in table:
            table = self.recompute()
            if walk is None:
                self.loose = table
            else:
                self.recomputed[walk] = table
        if holder.number not in table:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
                "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your use case."
            )
        return table.pop(holder.number) if walk is not None else table[holder.number]

    def recompute(self) -> dict[int, Any]:
        """Run the function again, catching what it saves."""
        table: dict[int, Any] = {}
        count = 0
        args = []
        for is_tensor, value, needs in self.inputs:
            if is_tensor:
                t = value.unpack(None).detach()
                args.append(t.requires_grad_(True) if needs else t)
            else:
                args.append(value)

        def pack(t: Any) -> Any:
            nonlocal count
            number, count = count, count + 1
            if number < len(self.holders):
                if self.holders[number]() is not None:
                    self.compare(number, t)
                    table[number] = t.detach()
            elif self.early_stop:
                raise _EnoughError
            if self.early_stop and count == len(self.holders):
                raise _EnoughError
            return t.detach()

        with fork_rng(enabled=self.state is not None):
            if self.state is not None:
                set_rng_state(self.state)
            with observed(self.observers), enable_grad(), saved_tensors_hooks(pack, lambda t: t), self.context:
                try:
                    self.function(*args, **self.kwargs)
                except _EnoughError:
                    return table
        if count != len(self.holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.holders)}\nNumber of tensors saved during recomputation: {count}.\n"
                "The function must do the same operations both times: look for branches on global state, randomness outside torch, or "
                "caches filled by the first run."
            )
        return table

    def compare(self, number: int, t: Any) -> None:
        if self.check == "none":
            return
        before, now = self.facts[number], (tuple(t.shape), t.dtype)
        if before != now:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
                f"pass.\ntensor at position {number}:\nsaved metadata: {{'shape': torch.Size({list(before[0])}), 'dtype': {before[1]!r}, "
                f"'device': device(type='cpu')}}\nrecomputed metadata: {{'shape': torch.Size({list(now[0])}), 'dtype': {now[1]!r}, "
                "'device': device(type='cpu')}\n"
            )


class _Reentrant(Function):
    """The older form: the recomputed part gets a backward of its own, inside the backward."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.state = get_rng_state() if preserve else None
        ctx.observers = modes().observers
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.where = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.where])
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args) and modes().packing is None:
            import warnings

            if _outer_grad(args):
                warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=4)
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        walk = current_walk()
        if walk is not None and walk.needed is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
                "`inputs` argument."
            )
        args = list(ctx.others)
        for i, t in zip(ctx.where, ctx.saved_tensors):
            args[i] = t.detach().requires_grad_(t.requires_grad) if t.is_floating_point() or t.is_complex() else t.detach()
        with fork_rng(enabled=ctx.state is not None):
            if ctx.state is not None:
                set_rng_state(ctx.state)
            with observed(ctx.observers), enable_grad():
                outputs = ctx.function(*args)
        row = outputs if isinstance(outputs, tuple) else (outputs,)
        live = [(o, g) for o, g in zip(row, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not live:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([o for o, _ in live], [g for _, g in live])
        return (None, None, *[a.grad if isinstance(a, Tensor) and a.requires_grad else None for a in args])


def _outer_grad(args: Any) -> bool:
    return any(isinstance(a, Tensor) for a in args)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Run a sequence of modules in ``segments`` parts, all but the last of them checkpointed."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is None:
        import warnings

        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly.", UserWarning, stacklevel=2
        )
        use_reentrant = True
    rows = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(rows) // segments

    def part(start: int, end: int) -> Any:
        def forward(x: Any) -> Any:
            for f in rows[start : end + 1]:
                x = f(x)
            return x

        return forward

    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(part(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(end + 1, len(rows) - 1)(input)
