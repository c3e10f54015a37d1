"""The second run: placeholders in the graph, and the frame that fills them; and the older form, ``CheckpointFunction``.

While the checkpointed function runs, saved-tensor hooks put a ``_Holder`` into the graph for every tensor that would
have been saved. The first holder that a backward reads makes its ``Frame`` run the function again, with hooks that
catch what is saved this time: the n-th tensor belongs to the n-th holder. What was caught lives as long as that
backward (``Walk``), and each tensor only until it is used.
"""

from __future__ import annotations

import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ...arrays.context import ContextVar
from ...autograd._function_node import SavedTensor
from ...autograd.function import Function
from ...autograd.graph import saved_tensors_hooks
from ...graph.engine import current_graph_task
from ...graph.modes import enable_grad, modes, no_grad, set_modes
from ...tensor.autograd_meta import INFERENCE_VERSION, requires_grad
from ...tensor.backward import backward as run_backward
from ...tensor.tensor import Tensor
from .state import Surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


class _Hooks(saved_tensors_hooks):
    """Hooks that leave every value as it is, which gradients of ``torch.func`` have nothing against."""

    _everywhere = True


class CheckpointError(RuntimeError):
    """The second run did not do what the first did."""


class _StopRecomputationError(Exception):
    """Everything that is needed has been recomputed."""


# What the contexts below have set; None leaves it to each checkpoint's own argument.
settings: dict[str, bool | None] = {"early_stop": None, "debug": None}


@contextmanager
def _setting(name: str, value: bool | None) -> Iterator[None]:
    before, settings[name] = settings[name], value
    try:
        yield
    finally:
        settings[name] = before


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Whether the checkpoints made inside ``with`` stop a recomputation as soon as it has what backward needs."""
    return _setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Whether the checkpoints made inside ``with`` record their operators, whatever their ``debug`` says."""
    return _setting("debug", enabled)


class restored:
    """After an error the modes are what they were: an interrupt may come on the way into or out of any context.

    No generator: one that is given up is closed later, when other modes may be in force.
    """

    __slots__ = ("around",)

    def __enter__(self) -> None:
        self.around = modes()

    def __exit__(self, kind: Any, *error: object) -> None:
        if kind is not None:
            set_modes(self.around)


class GraphExecGroup:
    """Backward calls inside ``with`` count as one: what a checkpoint recomputed for one of them serves the others.

    They must use disjoint parts of the graph: each saved tensor is given out once.
    """

    def __enter__(self) -> GraphExecGroup:
        if (outer := group.get()) is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {outer}")
        group.set(self)
        return self

    def __exit__(self, *exc: object) -> None:
        group.set(None)

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return group.get()


group: ContextVar[GraphExecGroup | None] = ContextVar("wengert_graph_exec_group", default=None)


class _Holder:
    """Stands in the graph for a tensor that will be computed again; ``number`` is its place in the order of saving."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number


class _Run:
    """One recomputation: what it caught, by number, and the facts about all that it saw."""

    __slots__ = ("caught", "count", "facts", "loose")

    def __init__(self) -> None:
        self.caught: dict[int, Any] = {}
        self.facts: dict[int, Any] = {}
        self.count = 0
        self.loose = False  # saw more than the first run had saved by then


class Frame:
    """One checkpointed call: how to run it again, what it saved, and what running backwards have recomputed."""

    def __init__(self, function: Any, args: Any, kwargs: Any, preserve: bool, context: Any, check: bool,
            early_stop: bool, complain: Any) -> None:
        self.function, self.kwargs, self.context, self.check, self.complain = function, kwargs, context, check, complain
        self.early_stop = early_stop if settings["early_stop"] is None else settings["early_stop"]
        saved_tensor_hooks = modes().saved_tensor_hooks
        if not modes().inference and any(isinstance(a, Tensor) and a.is_inference() for a in args):
            _ = INFERENCE_VERSION[0]  # they cannot be saved, and it says so
        # Inputs are saved like any other tensor: inside an outer checkpoint they too are dropped and recomputed.
        self.inputs = [(True, SavedTensor(a, None, saved_tensor_hooks)) if isinstance(a, Tensor) else (False, a)
            for a in args]
        self.surroundings = Surroundings(preserve)
        self.holders: list[weakref.ref[_Holder]] = []
        self.facts: list[Any] = []
        self.runs: weakref.WeakKeyDictionary[Any, _Run] = weakref.WeakKeyDictionary()
        self.finished = False

    def recording(self) -> saved_tensors_hooks:
        """The hooks of the first run."""

        def pack(t: Any) -> _Holder:
            holder = _Holder(len(self.holders))
            self.holders.append(weakref.ref(holder))
            self.facts.append(_facts(t) if self.check else None)
            return holder

        return _Hooks(pack, self.unpack if self.complain is None else self.unpack_or_complain)

    def unpack_or_complain(self, holder: _Holder) -> Any:
        try:
            return self.unpack(holder)
        except CheckpointError as error:
            self.complain(error)
            raise

    def unpack(self, holder: _Holder) -> Any:
        """The tensor that ``holder`` stands for."""
        key: Any = group.get() or current_graph_task()
        run = None if key is None else self.runs.get(key)
        if run is None:
            run = _Run()
            self.recompute(run)
            if key is not None:
                self.runs[key] = run
            self.compare(run)
        if holder.number not in run.caught:
            overlap = ("Performing two backward calls that overlap (i.e. require the same saved activation in order to "
                "compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
                if group.get() is not None else "")
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                f"{overlap}If you are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise "
                "please open an issue with details on your use case."
            )
        return run.caught.pop(holder.number)

    def recompute(self, run: _Run) -> None:
        """Run the function again, catching what it saves."""
        args = [value.restored(None) if is_tensor else value for is_tensor, value in self.inputs]

        def pack(t: Any) -> Any:
            kept = t.detach() if requires_grad(t) else t
            number = run.count
            run.count += 1
            if number >= len(self.holders):
                if not self.finished:  # a backward inside the function: the rest is still to come
                    run.loose = True
                    return kept
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    "forward pass." + _TIP
                )
            if self.holders[number]() is not None:
                run.caught[number] = kept
                run.facts[number] = _facts(kept) if self.check else None
            if self.early_stop and run.count == len(self.holders):
                raise _StopRecomputationError
            return kept

        # the context of the second run sees that it was stopped
        with (suppress(_StopRecomputationError), restored(), enable_grad(), _Hooks(pack, lambda t: t),
                self.surroundings.again(), self.context, self.surroundings.device_again()):
            self.function(*args, **self.kwargs)

    def compare(self, run: _Run) -> None:
        """Refuse a run that saved other tensors than the first."""
        if run.loose:
            return
        if run.count != len(self.holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\nNumber of tensors saved "
                f"during recomputation: {run.count}.\nThe function must do the same operations both times: look for "
                "branches on global state, randomness outside torch, or caches filled by the first run." + _TIP
            )
        if self.check:
            different = "".join(
                f"tensor at position {number}:\nsaved metadata: {_shown(self.facts[number])}\nrecomputed metadata: "
                f"{_shown(now)}\n"
                for number, now in run.facts.items()
                if now != self.facts[number]
            )
            if different:
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                    f"during the forward pass.\n{different}.{_TIP}"
                )


_TIP = ("\n\nTip: To see a more detailed error message, either pass `debug=True` "
    "to\n`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\nwith `with "
    "torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable checkpoint-debug mode globally.\n")


def _facts(t: Any) -> tuple[Any, ...]:
    return (tuple(t.shape), t.dtype, str(t.device))


def _shown(facts: tuple[Any, ...]) -> str:
    shape, dtype, device = facts
    return f"{{'shape': torch.Size({list(shape)}), 'dtype': {dtype!r}, 'device': device(type='{device}')}}"


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors cut out of their graphs, as leaves that require gradients where they did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    row = []
    for x in inputs:
        if isinstance(x, Tensor):
            needs, x = x.requires_grad, x.detach()
            x.requires_grad = needs
        row.append(x)
    return tuple(row)


def check_backward_validity(inputs: Any) -> None:
    """Warn if no input requires a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        import warnings

        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """``CheckpointFunction.apply(function, preserve_rng_state, *args)``."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = Surroundings(preserve_rng_state)
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.where = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.where])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        walk = current_graph_task()
        if walk is not None and walk.captures is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        given = list(ctx.others)
        for i, t in zip(ctx.where, ctx.saved_tensors):
            given[i] = t
        args = detach_variable(tuple(given))
        with restored(), ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*args)
        row = (outputs,) if isinstance(outputs, Tensor) else outputs
        live = [(o, g) for o, g in zip(row, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not live:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([o for o, _ in live], [g for _, g in live])
        return (None, None, *[a.grad if isinstance(a, Tensor) else None for a in args])
