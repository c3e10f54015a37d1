"""``DistributedDataParallel``: the same module in several processes, each with its share of the batch."""

from __future__ import annotations

import inspect
import sys
import warnings
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import wengert
from wengert import distributed as dist
from wengert.distributed.algorithms.join import Join, Joinable, JoinHook
from wengert.distributed.buckets import _DEFAULT_FIRST_BUCKET_BYTES, broadcast_coalesced, bucket_assignment
from wengert.distributed.reducer import Reducer
from wengert.graph import no_grad
from wengert.graph.engine import queue_callback

from ..modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wengert import Tensor

__all__ = ["DistributedDataParallel"]

_MB = 1024 * 1024
_BUCKET_MB = 25


class DistributedDataParallel(Module, Joinable):
    """A wrapper that keeps replicas of ``module`` in several processes alike.

    At the start all take the parameters and buffers of rank 0. During each backward gradients are averaged over the
    processes, in buckets, while the backward still runs; so the optimizers, which are given the same gradients, make
    the same steps. (Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", 2020.)

    Arguments:
        module: with at least one parameter that requires a gradient.
        broadcast_buffers: give all the buffers of rank 0 before each forward.
        init_sync: check that the processes have parameters of the same shapes, and give them those of rank 0.
        process_group: the processes; default: all.
        device_mesh: in place of a group, a mesh of one dimension. If it is a dimension of a larger one, parameters of
            ``module`` may be DTensors on the others: outside of a forward they are then this process's pieces.
        bucket_cap_mb: size of a bucket in MiB (25); the first has 1 MiB.
        find_unused_parameters: search the graph of each forward for parameters that it has not used, so that nobody
            waits for their gradients. Without it the next forward raises ``RuntimeError`` and names them.
        gradient_as_bucket_view: ``.grad`` is a view of a bucket, which saves a copy of all gradients.
        static_graph: each iteration uses the same parameters as the first; permits checkpointed and reused blocks.

    ``ValueError`` if no group has been initialized, ``RuntimeError`` for a module without parameters to train.

    ::

        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(net)
        loss(model(inputs), targets).backward()      # the mean over all processes is in .grad
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
            broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Any = None,
            bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False,
            gradient_as_bucket_view: bool = False, static_graph: bool = False,
            delay_all_reduce_named_params: Any = None, param_to_hook_all_reduce: Any = None,
            mixed_precision: Any = None, device_mesh: Any = None, skip_all_reduce_unused_params: bool = False,
            bucket_cap_mb_list: list[int] | None = None, batched_grad_copy: bool = False,
            forward_sync_buffers: bool | None = None) -> None:
        Module.__init__(self)
        Joinable.__init__(self)
        if not dist.is_initialized():
            raise ValueError("Default process group has not been initialized, please make sure to call "
                "init_process_group.")
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            process_group = _along(device_mesh, module)
        if mixed_precision is not None:
            raise ValueError("mixed_precision of DistributedDataParallel is made for accelerators: use torch.autocast "
                "around the forward, and a communication hook (fp16_compress_hook) for what travels")
        self.process_group: Any = dist.group.WORLD if process_group is None else process_group
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.module = module
        self._check_devices(device_ids, output_device)
        self.device_ids, self.output_device, self.dim = None, None, dim
        self.device = next(iter(module.parameters())).device
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        if forward_sync_buffers is not None:
            self.broadcast_buffers = forward_sync_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        first = _DEFAULT_FIRST_BUCKET_BYTES if bucket_cap_mb is None else int(bucket_cap_mb * _MB)
        self.bucket_bytes_cap = int((_BUCKET_MB if bucket_cap_mb is None else bucket_cap_mb) * _MB)
        self._limits = first, self.bucket_bytes_cap
        self._comm_hooks: list[tuple[Any, Any]] = []
        self._divides_by_all = True
        if init_sync:
            names, parameters, _ = self._trained()
            _check_alike(parameters, names, self.process_group)
            self._share([t for n, t in self._named_state() if n not in self.parameters_to_ignore])
        self._make_reducer()

    # -- the set-up ----------------------------------------------------------------------------------------------------

    def _check_devices(self, device_ids: Any, output_device: Any) -> None:
        if not any(p.requires_grad for n, p in self.module.named_parameters() if n not in self.parameters_to_ignore):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that "
                "requires a gradient.")
        if device_ids or output_device is not None:
            where = {p.device for p in self.module.parameters()}
            raise ValueError("DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {output_device}, and module parameters {where}.")

    def _trained(self) -> tuple[list[str], list[Tensor], list[bool]]:
        """Names, parameters that get gradients, and whether those will be sparse; a shared one comes once."""
        found: dict[int, tuple[str, Tensor, bool]] = {}
        for prefix, module in self.module.named_modules():
            sparse = isinstance(module, (wengert.nn.Embedding, wengert.nn.EmbeddingBag)) and module.sparse
            for short, p in module.named_parameters(recurse=False):
                name = f"{prefix}.{short}" if prefix else short
                if p.requires_grad and name not in self.parameters_to_ignore:
                    found.setdefault(id(p), (name, p, sparse))
        return ([n for n, _, _ in found.values()], [p for _, p, _ in found.values()],
            [s for _, _, s in found.values()])

    def _named_state(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.module.named_parameters()
        yield from self.module.named_buffers()

    def _share(self, tensors: list[Tensor], src: int = 0) -> None:
        broadcast_coalesced(self.process_group, tensors, src=src)

    def _make_reducer(self) -> None:
        names, parameters, sparse = self._trained()
        limits = (list(self._limits) if self.find_unused_parameters and not self.static_graph else [sys.maxsize])
        buckets, _ = bucket_assignment(parameters, limits, sparse)
        self.reducer = Reducer(parameters, names, self.process_group, buckets[::-1], self._limits, sparse,
            self.find_unused_parameters, self.gradient_as_bucket_view, self.static_graph)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("process_group", "reducer"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = dist.group.WORLD
        self._make_reducer()

    # -- a forward -----------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        inputs, kwargs = self._pre_forward(*inputs, **kwargs)
        return self._post_forward(self.module(*inputs, **kwargs))

    def _pre_forward(self, *inputs: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        reduces = wengert.is_grad_enabled() and self.require_backward_grad_sync
        work = Join.notify_join_context(self)
        if work is not None:
            self.reducer.count_processes(work, work.counted, self._divides_by_all)
        if wengert.is_grad_enabled():
            self.reducer.rebuild()
        if self.will_sync_module_buffers():
            self._sync_buffers(joined=False)
        if self._join_config.enable:
            self._all_reduce_flag(int(reduces))
        return inputs, kwargs

    def _post_forward(self, output: Any) -> Any:
        reduces = wengert.is_grad_enabled() and self.require_backward_grad_sync
        self.require_forward_param_sync = reduces
        self.reducer.accumulates = not self.require_backward_grad_sync
        if reduces:
            outputs = list(_tensors(output)) if self.find_unused_parameters or self.static_graph else []
            self.reducer.expect(outputs)
            if self.static_graph and self.reducer.uses is None:
                _at_end_of_backward(outputs, self.reducer)
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it gradients are only accumulated; the first backward of a forward after it reduces the sums.

        The forward must be within it too.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward begins with buffers from rank 0."""
        return bool(self.require_forward_param_sync and self.broadcast_buffers and self._buffers_to_share())

    def _buffers_to_share(self) -> list[Tensor]:
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    def _sync_buffers(self, joined: bool) -> None:
        source = self._common_rank(joined) if self._join_config.enable or joined else 0
        self._share(self._buffers_to_share(), source)

    def _common_rank(self, joined: bool) -> int:
        """The highest rank with inputs."""
        rank = wengert.tensor([-1 if joined else self.process_group.rank()])
        dist.all_reduce(rank, dist.ReduceOp.MAX, group=self.process_group)
        if rank.item() == -1:
            raise ValueError("BUG! Expected rank_cond to be true for at least one process.")
        return int(rank.item())

    def _all_reduce_flag(self, flag: int) -> int:
        """How many processes with inputs reduce in this iteration."""
        tensor = wengert.tensor([flag])
        dist.all_reduce(tensor, group=self.process_group)
        return int(tensor.item())

    # -- communication hooks -------------------------------------------------------------------------------------------

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Reduce buckets by ``hook(state, bucket)``, which gives a ``torch.futures.Future`` of the result.

        ``bucket`` is a ``torch.distributed.GradBucket``; its gradients are not divided by the number of processes.
        """
        self._check_hook(hook)
        self._set_hook(state, hook, "register_comm_hook or register_builtin_comm_hook")

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        from wengert.distributed.algorithms.ddp_comm_hooks import default_hooks

        half = comm_hook_type == dist.BuiltinCommHookType.FP16_COMPRESS
        self._set_hook(self.process_group, default_hooks.fp16_compress_hook if half else default_hooks.allreduce_hook,
            "register_builtin_comm_hook or register_comm_hook")

    def _set_hook(self, state: Any, hook: Any, what: str) -> None:
        if self.reducer.hook is not None:
            raise RuntimeError(f"{what} can only be called once.")
        self.reducer.use_hook(hook, state)
        self._comm_hooks.append((hook, state))

    @staticmethod
    def _check_hook(hook: Any) -> None:
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        signature = inspect.signature(hook)
        bucket = signature.parameters["bucket"].annotation
        if not isinstance(bucket, str) and bucket not in (inspect.Parameter.empty, dist.GradBucket):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        futures = wengert.futures.Future
        if signature.return_annotation not in (inspect.Signature.empty, futures, futures[wengert.Tensor],
                futures[list[wengert.Tensor]], futures[tuple[wengert.Tensor]]) and not isinstance(
                signature.return_annotation, str):
            raise ValueError("Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")

    # -- uneven inputs -------------------------------------------------------------------------------------------------

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True,
            throw_on_early_termination: bool = False) -> Join:
        """A context in which the processes may have different numbers of inputs: see ``algorithms.join.Join``.

        Gradients are divided by the number of all processes, or of those that have inputs left.
        """
        return Join([self], enable, throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return _Joined(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        return self.device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    # -- less common ---------------------------------------------------------------------------------------------------

    def _set_static_graph(self) -> None:
        """As ``static_graph=True``."""
        if self.static_graph:
            warnings.warn("You've set static_graph to be True, no need to set it again.", stacklevel=2)
            return
        self.static_graph = self.reducer.static = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        parameters = self.reducer.parameters
        sizes = [sum(p.numel() * p.element_size() for p in bucket.parameters) for bucket in self.reducer.buckets]
        return {
            "backend_name": dist.get_backend(self.process_group), "module_name": type(self.module).__name__,
            "rank": self.process_group.rank(), "world_size": self.process_group.size(),
            "bucket_sizes": ", ".join(map(str, sizes)), "bucket_cap_bytes": self.bucket_bytes_cap,
            "broadcast_buffers": int(self.broadcast_buffers),
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view), "static_graph": int(self.static_graph),
            "iteration": self.reducer.iterations, "num_parameter_tensors": len(parameters),
            "total_parameter_size_bytes": sum(p.numel() * p.element_size() for p in parameters),
            "has_rebuilt_buckets": int(self.reducer.rebuilt), "comm_hook": ", ".join(
                getattr(hook, "__qualname__", str(hook)) for hook, _ in self._comm_hooks),
        }

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Leave the parameters and buffers of these names alone when ``module`` is wrapped."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _remove_autograd_hooks(self) -> None:
        self.reducer.remove_hooks()


def _along(mesh: Any, module: Module) -> Any:
    """The group of a mesh of one dimension; parameters in pieces on others are made ready for it."""
    if mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {mesh}.")
    if mesh._get_root_mesh() != mesh:
        from wengert.distributed.tensor.parallel.ddp import _pre_dp_module_transform

        _pre_dp_module_transform(module)
    return mesh.get_group(mesh_dim=0)


class _Joined(JoinHook):
    """What a process without inputs does: what the reducers of the others ask for."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self.ddp = ddp
        ddp._divides_by_all = divide_by_initial_world_size

    def main_hook(self) -> None:
        ddp = self.ddp
        ddp.reducer.rebuild()
        if ddp.will_sync_module_buffers():
            ddp._sync_buffers(joined=True)
        reduces = ddp._all_reduce_flag(0) > 0
        ddp.require_forward_param_sync = reduces
        if not reduces:
            return
        ddp.reducer.reduce_zeros()
        if ddp.find_unused_parameters and not ddp.static_graph:
            ddp.reducer.exchange_unused()
        ddp.reducer.follow_order()

    def post_hook(self, is_last_joiner: bool) -> None:
        ddp = self.ddp
        source = ddp._common_rank(joined=not is_last_joiner)
        ddp._share([t for n, t in ddp._named_state() if n not in ddp.parameters_to_ignore], source)


def _check_alike(parameters: list[Tensor], names: list[str], group: Any) -> None:
    """Raise ``RuntimeError`` if processes have other shapes than rank 0."""
    shapes: list[Any] = [None] * group.size()
    dist.all_gather_object(shapes, [list(p.shape) for p in parameters], group=group)
    mine, first = shapes[group.rank()], shapes[0]
    for rank, theirs in enumerate(shapes):
        if len(theirs) != len(mine):
            raise RuntimeError(f"DDP expects same model across all ranks, but Rank {group.rank()} has {len(mine)} "
                f"params, while rank {rank} has inconsistent {len(theirs)} params.")
    for i, (here, there) in enumerate(zip(mine, first)):
        if here != there:
            raise RuntimeError(f"[{group.rank()}]: params[{i}] in this process with sizes {here} appears not to match "
                f"sizes of the same param in process 0. It is {names[i]}, which has sizes {there} there.")
    for rank, theirs in enumerate(shapes):
        if theirs != first:
            raise RuntimeError(f"[{group.rank()}]: params of rank {rank} do not match sizes of those in process 0.")


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested lists, tuples, dictionaries, dataclasses."""
    stack = [value]
    while stack:
        here = stack.pop()
        if isinstance(here, wengert.Tensor):
            yield here
        elif isinstance(here, dict):
            stack += here.values()
        elif isinstance(here, (list, tuple, set)):
            stack += here
        elif is_dataclass(here):
            stack += [getattr(here, f.name) for f in fields(here)]
        elif hasattr(here, "__dict__") and isinstance(getattr(here, "data", None), dict):  # a model's output object
            stack.append(here.data)


def _at_end_of_backward(outputs: list[Tensor], reducer: Reducer) -> None:
    """Reduce all gradients when the backward of these outputs is over."""
    queued = False

    def begun(gradient: Any) -> None:
        nonlocal queued
        if not queued:
            queued = True
            queue_callback(reducer.reduce_all)

    with no_grad():
        for t in outputs:
            if t.requires_grad:
                t.register_hook(begun)
