"""``fully_shard``, and what a module can do after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd.graph import saved_tensors_hooks
from ...graph.engine import current_graph_task
from ...graph.modes import modes
from ...nn import Module, ModuleDict, ModuleList
from ...tensor import Tensor
from ...utils._become import become
from ..tensor import Shard
from ._group import Group, Piece, cut_parameter
from ._policies import MixedPrecisionPolicy, OffloadPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLASSES: dict[type, type] = {}


def fully_shard(module: Any, *, mesh: Any = None, reshard_after_forward: bool | int | None = None,
        shard_placement_fn: Any = None, mp_policy: MixedPrecisionPolicy | None = None,
        offload_policy: OffloadPolicy | None = None, ignored_params: Any = None, dp_mesh_dims: Any = None) -> Any:
    """Cut the parameters of ``module`` among the processes, those apart that an earlier call on a submodule has cut.

    They are DTensors afterwards. Before the module's forward they are brought together, and cut again after it
    (``reshard_after_forward``, usual but for the outermost module); gradients are averaged and cut in the backward.
    Call it on the layers first, then on the model, then make the optimizer. A mesh of two dimensions repeats along the
    first. ``shard_placement_fn(param)`` may name another dimension to cut than the first.

    >>> from wengert.distributed.fsdp import fully_shard
    >>> callable(fully_shard)
    True
    """
    mesh = _mesh(mesh) if dp_mesh_dims is None else mesh[_names(dp_mesh_dims)]
    if isinstance(module, (ModuleList, ModuleDict)) and type(module).forward is Module.forward:
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    ignored = {id(p) for p in ignored_params or ()}
    found: dict[int, tuple[Any, list[tuple[Any, str]]]] = {}
    for part in _own_modules(modules):
        for name, p in part._parameters.items():
            if p is not None and id(p) not in ignored:
                found.setdefault(id(p), (p, []))[1].append((part, name))
    pieces = []
    for p, places in found.values():
        how = shard_placement_fn(p) if shard_placement_fn is not None else None
        dim = (how.dim % max(p.ndim, 1)) if isinstance(how, Shard) else 0
        piece = Piece(p, places, dim)
        piece.put(cut_parameter(p, mesh, dim))
        pieces.append(piece)
    group = Group(mesh, pieces, mp_policy or MixedPrecisionPolicy(), bool(reshard_after_forward))
    state = State(group, modules, reshard_after_forward is None)
    for one in modules:
        state.attach(one)
    return module


def _names(dims: Any) -> tuple[str, ...]:
    return tuple(n for v in (dims.replicate, dims.shard) if v is not None for n in ((v,) if isinstance(v, str) else v))


def _mesh(given: Any) -> Any:
    if given is not None:
        if given.ndim not in (1, 2):
            raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {given}")
        return given
    from ... import distributed as dist
    from ..device_mesh import init_device_mesh

    if not dist.is_initialized():
        dist.init_process_group()
    return init_device_mesh("cpu", (dist.get_world_size(),))


def _own_modules(modules: list[Any]) -> list[Any]:
    """The modules whose parameters no earlier call has cut, each once."""
    found: dict[int, Any] = {}

    def visit(m: Any, first: bool) -> None:
        if id(m) in found or (isinstance(m, FSDPModule) and not first):
            return
        found[id(m)] = m
        for child in m.children():
            visit(child, False)

    for m in modules:
        visit(m, True)
    return list(found.values())


class State:
    """What ``fully_shard`` keeps with a module."""

    def __init__(self, group: Group, modules: list[Any], automatic: bool) -> None:
        self.group, self.modules, self.automatic = group, modules, automatic
        self.inside: list[Any] = []  # the hooks for saved tensors of the forwards that run
        self.running = 0
        self.kept = False  # together until ``reshard()``
        self.early: dict[str, list[Any]] = {}  # whose parameters to bring together during "forward" and "backward"

    def attach(self, module: Any) -> None:
        """Make the module a sharding one."""
        if isinstance(module, FSDPModule):
            raise AssertionError(f"Each distinct module may only be fully sharded once: {type(module).__name__}")
        kind = type(module)
        if kind not in _CLASSES:
            _CLASSES[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
        become(module, _CLASSES[kind])
        module.__dict__["_fsdp_state"] = self
        module.register_forward_pre_hook(self.before, prepend=True, with_kwargs=True)
        module.register_forward_hook(self.after, always_call=True)

    def before(self, module: Any, args: Any, kwargs: Any) -> Any:
        """Bring the parameters together, inputs to their type."""
        if self.automatic:
            _settle_roots(module)
        group, outside = self.group, current_graph_task() is None
        if outside and (group.in_backward or group.summing):
            group.give_up()
        self.running += 1
        if self.running == 1 and not group.in_backward:
            if outside:
                ORDER.enter(group)
            group.held = None
            group.unshard()
            if outside:
                _prefetch(self.early.get("forward"), group.next)
        ORDER.inside += 1
        if group.reshard_after_forward and modes().grad and group.pieces:
            context = saved_tensors_hooks(*group.hooks())
            context.__enter__()
            self.inside.append(context)
        else:
            self.inside.append(None)
        kind = group.mp.param_dtype
        if kind is not None and group.mp.cast_forward_inputs:
            args, kwargs = cast(args, kind), cast(kwargs, kind)
        return args, kwargs

    def after(self, module: Any, args: Any, output: Any) -> Any:
        """Cut the parameters again, bring outputs to their type."""
        context = self.inside.pop() if self.inside else None
        if context is not None:
            context.__exit__(None, None, None)
        self.running, ORDER.inside = max(self.running - 1, 0), max(ORDER.inside - 1, 0)
        group, live = self.group, modes().grad
        if live and group.pieces and not group.in_backward:
            for t in tensors_in(output):
                if t.requires_grad:
                    t.register_hook(self.backward_comes)
        if self.running == 0 and not self.kept and not group.in_backward:
            group.reshard(hold=live and not group.reshard_after_forward)
        kind = self.group.mp.output_dtype
        return output if kind is None or output is None else cast(output, kind)

    def backward_comes(self, gradient: Any) -> None:
        """A gradient has come to an output."""
        if not self.group.in_backward:
            self.group.begin_backward()
            _prefetch(self.early.get("backward"), self.group.before)


class _Order:
    """The order in which groups come in the forward that runs: the next one can be brought together before its turn."""

    def __init__(self) -> None:
        self.inside = 0  # how many forwards of sharded modules run
        self.last: Group | None = None
        self.begun: list[Group] = []

    def enter(self, group: Group) -> None:
        """The turn of ``group`` has come."""
        if not self.inside:  # of the outermost module, where another iteration begins
            self.last = None
            for other in self.begun:
                other.coming = None  # parameters may have changed
            self.begun.clear()
        else:
            group.before = self.last
        if self.last is not None:
            self.last.next = group
        self.last = group


ORDER = _Order()


def _prefetch(modules: list[Any] | None, follows: Group | None) -> None:
    """Begin to bring parameters together: those of the modules that the program names, or of the next group."""
    for group in [follows] if modules is None else [m._get_fsdp_state().group for m in modules]:
        if group is not None and group.coming is None:
            group.prefetch()
            ORDER.begun.append(group)


def tensors_in(v: Any) -> Iterator[Any]:
    """The tensors in a nest of lists, tuples and dicts."""
    if isinstance(v, Tensor):
        yield v
    elif isinstance(v, (list, tuple, dict)):
        for x in v.values() if isinstance(v, dict) else v:
            yield from tensors_in(x)


def _settle_roots(module: Any) -> None:
    """The first module of which a forward runs is the outermost one: it is not cut again, those in it are."""
    for m in module.modules():
        if isinstance(m, FSDPModule):
            state = m._get_fsdp_state()
            if state.automatic:
                state.group.reshard_after_forward, state.automatic = m is not module, False


def cast(v: Any, kind: Any) -> Any:
    """Floating-point tensors of a type, wherever they are in ``v``."""
    if isinstance(v, Tensor):
        return v.to(kind) if v.is_floating_point() and v.dtype != kind else v
    if isinstance(v, dict):
        return {k: cast(x, kind) for k, x in v.items()}
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return type(v)(*(cast(x, kind) for x in v))
    return type(v)(cast(x, kind) for x in v) if isinstance(v, (list, tuple)) else v


class UnshardHandle:
    """What ``unshard(async_op=True)`` gives; ``wait()`` returns when the parameters are together."""

    def __init__(self, group: Group | None = None) -> None:
        self._group = group

    def wait(self) -> None:
        """Wait until they are."""
        group, self._group = self._group, None
        if group is not None:
            group.unshard()


class FSDPModule:
    """What a module is after ``fully_shard``, besides what it was.

    >>> from wengert.distributed.fsdp import FSDPModule
    >>> isinstance(torch.nn.Linear(1, 1), FSDPModule)
    False
    """

    def _get_fsdp_state(self) -> State:
        state: State = self.__dict__["_fsdp_state"]
        return state

    def _groups(self, recurse: bool) -> list[Group]:
        this: Any = self
        parts = this.modules() if recurse else [this]
        return [m._get_fsdp_state().group for m in parts if isinstance(m, FSDPModule)]

    def reshard(self) -> None:
        """Cut the parameters of this module again."""
        state = self._get_fsdp_state()
        state.kept = False
        state.group.reshard()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Bring the parameters of this module together, until ``reshard()``."""
        state = self._get_fsdp_state()
        state.kept = True
        if async_op:
            state.group.prefetch()
            return UnshardHandle(state.group)
        state.group.unshard()
        return None

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Whether the next backward is the last before the optimizer's step: nothing waits for that here."""

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backwards add up gradients of all processes, or each keeps its own, whole, until one does."""
        for group in self._groups(recurse):
            group.sync = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether the repeating dimension of the mesh adds up gradients too."""
        for group in self._groups(recurse):
            group.all_reduce = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether the parameters are cut again after a forward."""
        this: Any = self
        for m in this.modules() if recurse else [this]:
            if isinstance(m, FSDPModule):
                state = m._get_fsdp_state()
                state.group.reshard_after_forward, state.automatic = reshard_after_forward, False

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether the parameters are cut again after a backward: they are."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """During this module's forward begin to bring together the parameters of these, instead of the next one's."""
        self._get_fsdp_state().early["forward"] = list(modules)

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """During this module's backward begin to bring together the parameters of these, instead of the next one's."""
        self._get_fsdp_state().early["backward"] = list(modules)

    def set_all_reduce_hook(self, hook: Any, *, stream: Any = None) -> None:
        """``hook(grads)`` is called with what is this process's of the summed gradients, in a row."""
        self._get_fsdp_state().group.hook = hook

    def set_post_optim_event(self, event: Any) -> None:
        """What to wait for before parameters are brought together: nothing on the CPU."""

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide summed gradients by this instead of the number of processes."""
        self._get_fsdp_state().group.divide = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Whether a backward brings the parameters together: only if it needs them."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Whether sums are divided afterwards: they are."""

    def set_allocate_memory_from_process_group_for_comm(self, enable: bool) -> None:
        """Where memory comes from: MPI takes any."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Have the parameters together in the method ``method_name`` too, as they are in ``forward``."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(type(module), method_name)

    def run(*args: Any, **kwargs: Any) -> Any:
        state = module._get_fsdp_state()
        args, kwargs = state.before(module, args, kwargs)
        output = None
        try:
            output = method(module, *args, **kwargs)
        finally:
            output = state.after(module, args, output)
        return output

    module.__dict__[method_name] = run


def share_comm_ctx(modules: list[Any]) -> None:
    """Let modules share what communication needs: there is nothing to share."""
    if not all(isinstance(m, FSDPModule) for m in modules):
        raise ValueError("Expects list of FSDPModules")


__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method", "share_comm_ctx"]
