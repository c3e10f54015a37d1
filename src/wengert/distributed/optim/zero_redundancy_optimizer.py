"""The state of an optimizer divided among processes (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training
Trillion Parameter Models", 2020, stage 1).

Each process updates the parameters assigned to it and broadcasts them.
"""

from __future__ import annotations

import copy
from itertools import chain
from typing import TYPE_CHECKING, Any

import wengert
from wengert import distributed as dist
from wengert.distributed.algorithms.join import Join, Joinable, JoinHook
from wengert.distributed.buckets import broadcast_coalesced
from wengert.graph import no_grad
from wengert.optim import Optimizer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wengert import Tensor

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of ``optimizer_class`` whose state is divided among the processes of a group.

    ``params``: parameters or parameter groups, the same in all processes and of one dtype. Each is assigned to the
    process that has least so far, the largest first. ``parameters_as_bucket_view``: the parameters of one process are
    views of one tensor, which is broadcast without a copy. ``overlap_with_ddp``: the steps are made by
    ``hook_with_zero_step`` during the backward, and ``step`` does nothing. ``defaults`` go to ``optimizer_class``.

    ::

        optimizer = ZeroRedundancyOptimizer(ddp.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
    """

    def __init__(self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None,
            parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any) -> None:
        groups = _checked(params)
        self.initialized = False
        Optimizer.__init__(self, groups, defaults)
        Joinable.__init__(self)
        group: Any = dist.group.WORLD if process_group is None else process_group
        self.process_group = group
        self.world_size, self.rank = group.size(), group.rank()
        self.parameters_as_bucket_view, self._overlap_with_ddp = parameters_as_bucket_view, overlap_with_ddp
        self._optim_class, self._optim_defaults = optimizer_class, defaults
        self._all_state_dicts: list[Any] = []
        self._default_device = self._params()[0].device
        self._assign()
        self.initialized = True

    # -- who has which parameter ---------------------------------------------------------------------------------------

    def _params(self) -> list[Tensor]:
        return list(chain.from_iterable(group["params"] for group in self.param_groups))

    def _assign(self) -> None:
        """Divide the parameters, and make the optimizer for those of this process."""
        self._rank_of: dict[Tensor, int] = {}
        self._groups: list[list[dict[str, Any]]] = [[] for _ in range(self.world_size)]
        sizes = [0] * self.world_size
        for group in self.param_groups:
            shares: list[list[Tensor]] = [[] for _ in range(self.world_size)]
            for p in sorted(group["params"], key=lambda t: t.numel(), reverse=True):
                rank = sizes.index(min(sizes))
                shares[rank].append(p)
                sizes[rank] += p.numel() if p.requires_grad else 0
                self._rank_of[p] = rank
            for rank, share in enumerate(shares):
                self._groups[rank].append({**group, "params": share})
        self.optim = self._optim_class([dict(g) for g in self._groups[self.rank]], **self._optim_defaults)
        self._mine_alike()
        if self.parameters_as_bucket_view:
            self._flatten()

    def _owned(self, rank: int) -> list[Tensor]:
        return [p for p, owner in self._rank_of.items() if owner == rank]

    def _flatten(self) -> None:
        self._flat: dict[int, Tensor] = {}
        with no_grad():
            for rank in range(self.world_size):
                owned = self._owned(rank)
                if owned:
                    flat = self._flat[rank] = wengert.cat([p.detach().reshape(-1) for p in owned])
                    for p, part in zip(owned, flat.split([p.numel() for p in owned])):
                        p.data = part.view(p.shape)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        Optimizer.add_param_group(self, param_group)
        if self.initialized:
            state = self.optim.state
            self._assign()
            for p, entry in state.items():
                if self._rank_of[p] == self.rank:
                    self.optim.state[p] = entry

    def _mine_alike(self) -> None:
        """Give the optimizer of this process the settings (learning rate …) that the program has put here."""
        for here, there in zip(self.param_groups, self.optim.param_groups):
            for name, value in here.items():
                if name != "params":
                    there[name] = value
            for name, value in there.items():
                if name != "params":
                    here.setdefault(name, value)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def step(self, closure: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Update the parameters of this process and exchange them. Gives the loss of ``closure``."""
        if self._overlap_with_ddp:
            return None
        Join.notify_join_context(self)
        loss = self._local_step(closure, **kwargs)
        self._sync_params()
        return loss

    def _local_step(self, closure: Any = None, **kwargs: Any) -> Any:
        self._mine_alike()
        return self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)

    def _sync_params(self) -> None:
        for rank in range(self.world_size):
            if self.parameters_as_bucket_view:
                if rank in self._flat:
                    with no_grad():
                        dist.broadcast(self._flat[rank], group=self.process_group, group_src=rank)
            else:
                owned = [p.detach() for p in self._owned(rank)]
                if owned:
                    broadcast_coalesced(self.process_group, owned, src=rank)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return _Joined(self)

    @property
    def join_device(self) -> Any:
        return self._default_device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    # -- states --------------------------------------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the states of all processes to rank ``to``, for ``state_dict``. All processes call it."""
        self._mine_alike()
        states: list[Any] | None = [None] * self.world_size if self.rank == to else None
        dist.gather_object(self.optim.state_dict(), states, group=self.process_group, group_dst=to)
        self._all_state_dicts = states or []

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, as the optimizer of one process would have it.

        ``RuntimeError`` if ``consolidate_state_dict`` has not brought it here.
        """
        if not self._all_state_dicts:
            raise RuntimeError("Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the global "
                "state.")
        number = {p: i for i, p in enumerate(self._params())}
        state: dict[int, Any] = {}
        for rank, theirs in enumerate(self._all_state_dicts):
            for group, saved in zip(self._groups[rank], theirs["param_groups"]):
                for p, i in zip(group["params"], saved["params"]):
                    if i in theirs["state"]:
                        state[number[p]] = theirs["state"][i]
        groups, begin = [], 0
        for group in self.param_groups:
            end = begin + len(group["params"])
            groups.append({**{n: v for n, v in group.items() if n != "params"}, "params": list(range(begin, end))})
            begin = end
        return {"state": {i: state[i] for i in sorted(state)}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of all parameters; each process keeps its own."""
        for mine, saved in zip(self.param_groups, state_dict["param_groups"]):
            mine.update({name: value for name, value in saved.items() if name != "params"})
        params = self._params()
        place = {p: i for i, p in enumerate(chain.from_iterable(g["params"] for g in self._groups[self.rank]))}
        saved_numbers = list(chain.from_iterable(g["params"] for g in state_dict["param_groups"]))
        state = {place[p]: copy.copy(state_dict["state"][i]) for p, i in zip(params, saved_numbers)
            if p in place and i in state_dict["state"]}
        self.optim.load_state_dict({"state": state, "param_groups": self._local_groups()})

    def _local_groups(self) -> list[dict[str, Any]]:
        groups, begin = [], 0
        for mine, share in zip(self.param_groups, self._groups[self.rank]):
            end = begin + len(share["params"])
            groups.append({**{n: v for n, v in mine.items() if n != "params"}, "params": list(range(begin, end))})
            begin = end
        return groups


class _Joined(JoinHook):
    """What a process without inputs does: its share of the steps, with the gradients that it got last."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        self.zero.step()


def _checked(params: Any) -> list[Any]:
    """The parameters or groups as a list; errors as PyTorch's."""
    if isinstance(params, wengert.Tensor):
        raise TypeError("`params` argument should be an iterable of Tensors, but got "
            f"{wengert.typename(params)}")
    try:
        groups: list[Any] = list(params)
    except TypeError:
        kind = type(params)
        raise TypeError(f"`params` argument should be an iterable of Tensors or dicts, but got {kind}") from None
    if not groups:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    _check_kinds(groups)
    return groups


def _check_kinds(groups: Iterable[Any]) -> None:
    tensors = []
    for entry in groups:
        if isinstance(entry, dict):
            if "params" not in entry:
                raise ValueError("A parameter group passed-in via `params` must contain a \"params\" key mapping to "
                    "the parameters in the group")
            given = entry["params"]
            entry["params"] = [given] if isinstance(given, wengert.Tensor) else list(given)
            tensors += entry["params"]
        elif isinstance(entry, wengert.Tensor):
            tensors.append(entry)
        else:
            raise TypeError("`params` argument should be an iterable of Tensors or dicts, but one of the items is "
                f"{wengert.typename(entry)}")
    for p in tensors:
        if p.is_sparse:
            raise ValueError("ZeroRedundancyOptimizer does not support sparse layouts")
        if p.dtype != tensors[0].dtype:
            raise ValueError(f"ZeroRedundancyOptimizer only supports a single dtype: found {tensors[0].dtype} and "
                f"{p.dtype}")
