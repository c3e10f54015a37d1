"""``FullyShardedDataParallel``: the older interface, a module around the module, on ``fully_shard``.

Parameters are DTensors with their own shapes and names, not flat ones. The state dicts are those of the module without
wrappers: whole tensors (``FULL_STATE_DICT``, which is usual), or DTensors (``SHARDED_STATE_DICT``).
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, Any

from ... import distributed as dist
from ...autograd.grad_mode import no_grad
from ...functions.parameter import Parameter
from ...nn import Module
from ...nn.utils import clip_grad_norm_
from ...utils._become import become
from ..device_mesh import DeviceMesh, init_device_mesh
from ..tensor import DTensor
from ..tensor._api import spread_as
from ._policies import MixedPrecisionPolicy
from ._sharding import FSDPModule, fully_shard
from .wrap import wrap_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRAPPED = "_fsdp_wrapped_module."


class ShardingStrategy(Enum):
    """What is cut: parameters between passes too (``FULL_SHARD``), until the forward (``SHARD_GRAD_OP``), nothing
    (``NO_SHARD``), or within rows of a mesh (``HYBRID_SHARD``).
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When to bring parameters together in a backward: each module does when it needs them."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What state dicts have: whole tensors, this process's pieces, or DTensors."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """Types in which modules compute, gradients are summed, and buffers are kept."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = ()


@dataclass
class CPUOffload:
    """Parameters are kept on the CPU, which is where they are."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """How state dicts are made."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole tensors; ``rank0_only``: other processes get an empty dict."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Pieces."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """DTensors."""

    _use_dtensor: bool = True


@dataclass
class OptimStateDictConfig:
    """How state dicts of optimizers are made."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole tensors; ``rank0_only``: other processes get an empty dict."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Pieces."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """DTensors."""

    _use_dtensor: bool = True


@dataclass
class StateDictSettings:
    """What state dicts have, and how they are made."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)


class FullyShardedDataParallel(Module):
    """``module`` with its parameters cut among the processes.

    ``auto_wrap_policy``: which submodules are wrapped by themselves, so that one after the other is brought together.
    ``sync_module_states``: begin with the values of the first process.

    >>> from wengert.distributed.fsdp import FullyShardedDataParallel
    >>> callable(FullyShardedDataParallel)
    True
    """

    def __init__(self, module: Any, process_group: Any = None, sharding_strategy: ShardingStrategy | None = None,
            cpu_offload: CPUOffload | None = None, auto_wrap_policy: Any = None,
            backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
            mixed_precision: MixedPrecision | None = None, ignored_modules: Any = None, param_init_fn: Any = None,
            device_id: Any = None, sync_module_states: bool = False, forward_prefetch: bool = False,
            limit_all_gathers: bool = True, use_orig_params: bool = False, ignored_states: Any = None,
            device_mesh: Any = None) -> None:
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = device_mesh or _mesh_of(process_group, strategy)
        ignored = {id(p) for m in ignored_modules or () for p in m.parameters()}
        ignored |= {id(p) for x in ignored_states or () for p in (x.parameters() if isinstance(x, Module) else [x])}
        if param_init_fn is not None and any(p.is_meta for p in module.parameters()):
            for m in module.modules():
                param_init_fn(m)
        if sync_module_states:
            _from_first(module, mesh)
        if auto_wrap_policy is not None:
            options: dict[str, Any] = dict(sharding_strategy=strategy, mixed_precision=mixed_precision,
                device_mesh=mesh, ignored_states=[p for p in module.parameters() if id(p) in ignored])
            wrap_inside(module, auto_wrap_policy, lambda m, **more: FullyShardedDataParallel(m, **{**options, **more}),
                ignored)
        mp = mixed_precision or MixedPrecision()
        if mp.buffer_dtype is not None:
            for m in module.modules():
                for name, b in m._buffers.items():
                    m._buffers[name] = b.to(mp.buffer_dtype) if b is not None and b.is_floating_point() else b
        cut = strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
        fully_shard(module, mesh=mesh, reshard_after_forward=cut,
            mp_policy=MixedPrecisionPolicy(mp.param_dtype, mp.reduce_dtype),
            ignored_params={p for p in module.parameters() if id(p) in ignored})
        sharded: Any = type(module)
        become(module, _named_as_before(sharded))
        self._fsdp_wrapped_module = module
        self.sharding_strategy, self._settings = strategy, StateDictSettings()

    @property
    def module(self) -> Any:
        """The module inside."""
        return self._fsdp_wrapped_module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._fsdp_wrapped_module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._fsdp_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._fsdp_wrapped_module[key]

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrapped modules in a module."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        inside = {id(x) for m in found for x in m.modules() if x is not m}
        return [m for m in found if not root_only or id(m) not in inside]

    def check_is_root(self) -> bool:
        """Whether this is an outermost one."""
        return True

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, backwards keep gradients whole in each process, until one outside adds them up."""
        self._fsdp_wrapped_module.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self._fsdp_wrapped_module.set_requires_gradient_sync(True)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale the gradients to a norm of at most ``max_norm``; the norm before."""
        found = clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return found.full_tensor() if isinstance(found, DTensor) else found

    # -- whole parameters -----------------------------------------------------------------------------------------

    @staticmethod
    @contextmanager
    def summon_full_params(module: Any, recurse: bool = True, writeback: bool = True, rank0_only: bool = False,
            offload_to_cpu: bool = False, with_grads: bool = False) -> Iterator[None]:
        """Inside, parameters are whole, and plain; what is written to them stays (``writeback``)."""
        places = [(m, name, p) for m in module.modules() for name, p in m._parameters.items() if isinstance(p, DTensor)]
        shared: dict[int, Any] = {}
        for m, name, p in places:
            if id(p) not in shared:
                whole: Any = p.detach()
                shared[id(p)] = Parameter(whole.full_tensor().clone(), requires_grad=p.requires_grad)
                grad: Any = p.grad if with_grads else None
                if grad is not None:
                    shared[id(p)].grad = grad.full_tensor()
            m._parameters[name] = shared[id(p)]
        try:
            yield
        finally:
            for m, name, p in places:
                m._parameters[name] = p
                if writeback:
                    with no_grad():
                        p.copy_(spread_as(shared[id(p)].detach(), p))

    def apply(self, fn: Any) -> Any:
        """``fn`` of every module, with whole parameters."""
        with FullyShardedDataParallel.summon_full_params(self):
            return super().apply(fn)

    # -- state dicts ----------------------------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(module: Any, state_dict_type: StateDictType, state_dict_config: Any = None,
            optim_state_dict_config: Any = None) -> StateDictSettings:
        """Choose what state dicts of the wrapped modules in ``module`` have; the settings before."""
        usual: Any = {StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
            StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
            StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig)}[state_dict_type]
        settings = StateDictSettings(state_dict_type, state_dict_config or usual[0](),
            optim_state_dict_config or usual[1]())
        before = StateDictSettings()
        for m in FullyShardedDataParallel.fsdp_modules(module):
            before, m._settings = m._settings, settings
        return before

    @staticmethod
    def get_state_dict_type(module: Any) -> StateDictSettings:
        """What state dicts have."""
        found = FullyShardedDataParallel.fsdp_modules(module)
        return found[0]._settings if found else StateDictSettings()

    @staticmethod
    @contextmanager
    def state_dict_type(module: Any, state_dict_type: StateDictType, state_dict_config: Any = None,
            optim_state_dict_config: Any = None) -> Iterator[None]:
        """``set_state_dict_type`` for a while."""
        before = FullyShardedDataParallel.set_state_dict_type(module, state_dict_type, state_dict_config,
            optim_state_dict_config)
        try:
            yield
        finally:
            FullyShardedDataParallel.set_state_dict_type(module, before.state_dict_type, before.state_dict_config,
                before.optim_state_dict_config)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        found = super().state_dict(*args, **kwargs)
        prefix, settings = kwargs.get("prefix", args[1] if len(args) > 1 else ""), self._settings
        for key in [k for k in found if k.startswith(prefix)]:
            value = found.pop(key)
            if isinstance(value, DTensor) and settings.state_dict_type is not StateDictType.SHARDED_STATE_DICT:
                cut: Any = value.detach()
                value = (value._local_tensor if settings.state_dict_type is StateDictType.LOCAL_STATE_DICT
                    else cut.full_tensor())
            if not (getattr(settings.state_dict_config, "rank0_only", False) and dist.get_rank() != 0):
                found[key.replace(_WRAPPED, "")] = value
        return found

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        pass  # what is here belongs to the module inside

    def load_state_dict(self, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        params = dict(self.named_parameters(remove_duplicate=False))
        own = {k.replace(_WRAPPED, ""): k for k in (*params, *dict(self.named_buffers(remove_duplicate=False)))}
        given = {}
        for key, value in state_dict.items():
            name = own.get(key.replace(_WRAPPED, ""), key)
            given[name] = spread_as(value, params[name]) if name in params else value
        wanted = self._settings
        try:
            self.set_state_dict_type(self, StateDictType.SHARDED_STATE_DICT)
            return super().load_state_dict(given, *args, **kwargs)
        finally:
            self.set_state_dict_type(self, wanted.state_dict_type, wanted.state_dict_config,
                wanted.optim_state_dict_config)

    @staticmethod
    def optim_state_dict(model: Any, optim: Any, optim_state_dict: Any = None, group: Any = None) -> Any:
        """The state of an optimizer by the names of parameters, whole or in pieces as state dicts are."""
        from ..checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

        settings = FullyShardedDataParallel.get_state_dict_type(model)
        whole = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        found = get_optimizer_state_dict(model, optim, options=StateDictOptions(full_state_dict=whole))
        none = getattr(settings.optim_state_dict_config, "rank0_only", False) and dist.get_rank() != 0
        return {} if whole and none else found

    @staticmethod
    def full_optim_state_dict(model: Any, optim: Any, optim_input: Any = None, rank0_only: bool = True,
            group: Any = None) -> Any:
        """The whole state of an optimizer, on the first process."""
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(),
                FullOptimStateDictConfig(rank0_only=rank0_only)):
            return FullyShardedDataParallel.optim_state_dict(model, optim)

    @staticmethod
    def optim_state_dict_to_load(model: Any, optim: Any, optim_state_dict: Any, is_named_optimizer: bool = False,
            load_directly: bool = False, group: Any = None) -> Any:
        """What ``optim.load_state_dict`` takes, of what ``optim_state_dict`` gave."""
        from ..checkpoint.state_dict import _init_optim_state, _names, _numbered

        _init_optim_state(optim)
        found = _numbered(optim_state_dict, optim, _names(model))
        if load_directly:
            optim.load_state_dict(found)
        return found


@cache
def _named_as_before(kind: Any) -> type:
    """The class that ``fully_shard`` gives a module, under the name of the module's own: the wrapper says the rest."""
    own = kind.__mro__[2]
    return type(own.__name__, (kind,), {"__module__": own.__module__, "__qualname__": own.__qualname__})


def _mesh_of(group: Any, strategy: ShardingStrategy) -> Any:
    if strategy is ShardingStrategy.NO_SHARD:
        return init_device_mesh("cpu", (dist.get_world_size(group), 1))
    if isinstance(group, DeviceMesh):
        return group
    if group is not None:
        return DeviceMesh.from_group(group, "cpu")
    return init_device_mesh("cpu", (dist.get_world_size(),))


def _from_first(module: Any, mesh: Any) -> None:
    """Take the values of the first process."""
    for x in (*module.parameters(), *module.buffers()):
        if not isinstance(x, DTensor):
            for i in range(mesh.ndim):
                dist.broadcast(x.detach(), group_src=0, group=mesh.get_group(i))


__all__ = ["FSDPModule", "FullyShardedDataParallel"]
