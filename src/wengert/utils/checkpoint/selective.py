"""Selective checkpointing: a policy says, operator by operator, what is kept of the first run.

The first run is done under a dispatch mode that keeps the results of the chosen operators, the second under one that
gives them back; both go through the operators in the same order.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ...dispatch.torch_dispatch import OpOverload, OpOverloadPacket, aten, prim
from ...tensor.tensor import Tensor
from .._python_dispatch import TorchDispatchMode
from .._pytree import tree_map

if TYPE_CHECKING:
    from collections.abc import Callable

# Not worth a question: they compute nothing.
SAC_IGNORED_OPS = {
    aten.detach.default, aten.is_strides_like_format.default, aten.numel.default, aten.size.default,
    aten.sym_numel.default, aten.is_contiguous.default, aten.is_contiguous.memory_format,
    aten.is_non_overlapping_and_dense.default, aten.sym_size.default, aten.stride.default, aten.sym_stride.default,
    aten.dim.default, aten.storage_offset.default, aten.sym_storage_offset.default, prim.device.default,
}

_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)
_RECOMPUTE, _CONSUMED = object(), object()  # in the storage: not kept; kept, and given back already


class CheckpointPolicy(enum.Enum):
    """What a policy answers: keep the result of the operator, or compute it again.

    ``MUST_`` and ``PREFER_`` differ for compilers; here a preference is always followed. Offloading is for compilers,
    which move results to the CPU; as in PyTorch, what they do not compile is computed again.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEEP = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


def _policy_from_bool(b: bool) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if b else CheckpointPolicy.PREFER_RECOMPUTE


class SelectiveCheckpointContext:
    """What a policy learns beside the operator: whether this is the second run, and what the operator gave."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _VersionWrapper:
    """A kept result: the tensor outside of its graph, and the version it had."""

    __slots__ = ("val", "version")

    def __init__(self, value: Any) -> None:
        self.val = value.detach() if isinstance(value, Tensor) else value  # what is returned gets a history
        self.version = value._version if isinstance(value, Tensor) and not value.is_inference() else None

    def get_val(self, allow_cache_entry_mutation: bool) -> Any:
        if self.version is not None and not allow_cache_entry_mutation and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first run: call the policy, keep results, by operator and number of the call."""

    def __init__(self, policy_fn: Callable[..., Any], storage: dict[Any, dict[int, Any]],
            ac_graph_id: Any = None) -> None:
        super().__init__()
        self.policy_fn, self.storage, self.ac_graph_id = policy_fn, storage, ac_graph_id
        self.func_counter: dict[Any, int] = defaultdict(int)

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return out
        at = self.func_counter[func]
        self.func_counter[func] += 1
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        if isinstance(policy, bool):
            policy = _policy_from_bool(policy)
        self.storage.setdefault(func, {})[at] = tree_map(_VersionWrapper, out) if policy in _KEEP else _RECOMPUTE
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The second run: give back what was kept. The policy is not called again."""

    def __init__(self, policy_fn: Any, storage: dict[Any, dict[int, Any]],
            allow_cache_entry_mutation: bool = False) -> None:
        super().__init__()
        self.storage, self.allow_cache_entry_mutation = storage, allow_cache_entry_mutation
        self.func_counter: dict[Any, int] = defaultdict(int)

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __enter__(self) -> Any:
        self.func_counter.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        at = self.func_counter[func]
        self.func_counter[func] += 1
        row = self.storage.get(func)
        kept = None if row is None else row.get(at)
        if row is None or kept is None:
            which = f"{func}" if row is None else f"{func} invocation index {at}"
            raise RuntimeError(f"{which} encountered during backward but not found in storage. {_MISMATCH}")
        if kept is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        if kept is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        row[at] = _CONSUMED
        return tree_map(lambda x: x.get_val(self.allow_cache_entry_mutation), kept)


def create_selective_checkpoint_contexts(policy_fn_or_list: Any,
        allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """The two contexts of a selective checkpoint: ``context_fn=partial(create_selective_checkpoint_contexts, policy)``.

    ``policy_fn_or_list``: ``policy(ctx, op, *args, **kwargs)`` that gives a ``CheckpointPolicy``, or the operators
    whose results are kept (``[torch.ops.aten.mm.default]``). Kept results that are written to before backward uses them
    are an error unless ``allow_cache_entry_mutation``. Backward can go through the region once.

    >>> import functools, wengert as torch
    >>> from wengert.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.eye(2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=keep).sum().backward()
    >>> x.grad
    tensor([[1.0806, 2.0000],
            [2.0000, 1.0806]])
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                advice = ("Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
                    "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`." if isinstance(op, OpOverloadPacket)
                    else "")
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
                    f"{advice}")
        chosen = set(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, dict[int, Any]] = defaultdict(dict)
    return (_CachingTorchDispatchMode(policy, storage),
        _CachedTorchDispatchMode(policy, storage, allow_cache_entry_mutation))
