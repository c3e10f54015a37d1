"""``pipeline``: a model cut in stages, at ``pipe_split()`` or at named submodules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from ...fx import GraphModule, Node, Tracer, wrap
from ...fx.passes.split_module import split_module
from .stage import PipelineStage

__all__ = ["Pipe", "SplitPoint", "pipe_split", "pipeline"]


def pipe_split() -> None:
    """Where the model is cut, in its ``forward``; nothing happens here in an ordinary call.

    >>> from wengert.distributed.pipelining import pipe_split
    >>> pipe_split()
    """


wrap(pipe_split)


class SplitPoint(Enum):
    """Whether a model is cut before or after a submodule."""

    BEGINNING = 1
    END = 2


class _Tracer(Tracer):
    """Notes where cuts are: ``at`` is the number of the stage of what comes next."""

    def __init__(self, points: dict[str, Any]) -> None:
        super().__init__()
        self.points, self.at = points, 0
        self.stage_of: dict[Any, int] = {}

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        node: Node = super().create_node(*args, **kwargs)
        if node.op == "call_function" and node.target is pipe_split:
            self.at += 1
        self.stage_of[node] = self.at
        return node

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        inside = any(p.startswith(module_qualified_name + ".") for p in self.points)
        return not inside and super().is_leaf_module(m, module_qualified_name)

    def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        point = self.points.get(self.path_of_module(m))
        self.at += point is SplitPoint.BEGINNING
        found = super().call_module(m, forward, args, kwargs)
        self.at += point is SplitPoint.END
        return found


@dataclass
class PipeInfo:
    """What a pipeline consists of. ``has_loss_and_backward``: never, schedules make the loss."""

    graph: Any
    num_stages: int
    has_loss_and_backward: bool = False


class Pipe:
    """A model in stages: ``num_stages``, ``get_stage_module(i)``, ``build_stage(i, device, group)``."""

    def __init__(self, split_gm: GraphModule, num_stages: int) -> None:
        self.split_gm, self.num_stages = split_gm, num_stages

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.split_gm(*args, **kwargs)

    forward = __call__

    def get_stage_module(self, stage_idx: int) -> Any:
        """The module of a stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self.split_gm, f"submod_{stage_idx}")

    def build_stage(self, stage_index: int, device: Any = None, group: Any = None) -> PipelineStage:
        """The stage that this process runs."""
        return PipelineStage(self.get_stage_module(stage_index), stage_index, self.num_stages, device, group=group)

    def info(self) -> PipeInfo:
        """What ``build_stage`` needs to know."""
        return PipeInfo(self.split_gm.graph, self.num_stages)

    def __repr__(self) -> str:
        return repr(self.split_gm)


def pipeline(module: Any, mb_args: tuple[Any, ...], mb_kwargs: dict[str, Any] | None = None,
        split_spec: dict[str, SplitPoint] | None = None, split_policy: Any = None) -> Pipe:
    """Cut ``module`` in stages where its ``forward`` calls ``pipe_split()``, or at the submodules in ``split_spec``.

    The model is traced by ``torch.fx``. Each stage may use what the stage before it gives; the parameters keep their
    names.

    >>> from wengert.distributed.pipelining import SplitPoint, pipeline
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    >>> pipe = pipeline(model, (torch.ones(1, 2),), split_spec={"2": SplitPoint.BEGINNING})
    >>> pipe.num_stages
    2
    """
    if split_policy is not None:
        raise NotImplementedError("pipeline() takes split_spec, or pipe_split() in the forward; no split_policy")
    for name in split_spec or {}:
        module.get_submodule(name)
    tracer = _Tracer(dict(split_spec or {}))
    graph = tracer.trace(module)
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is pipe_split:
            graph.erase_node(node)
    traced = GraphModule(tracer.root, graph)
    where = {node.name: tracer.stage_of.get(node, 0) for node in graph.nodes}
    where |= _of_their_users(graph, where)
    paths: dict[str, str] = {}
    split = split_module(traced, module, lambda node: where[node.name], paths)
    for i, part in split.named_children():
        _with_paths(part, {new[len(i) + 1 :]: old for new, old in paths.items() if new.startswith(f"{i}.")})
    return Pipe(split, 1 + max(n for name, n in where.items()))


def _with_paths(part: Any, paths: dict[str, str]) -> None:
    """Give the submodules of a stage the paths that they have in the model."""
    for node in part.graph.nodes:
        old = paths.get(node.target) if node.op == "call_module" else None
        if old is not None and old != node.target:
            part.add_submodule(old, part.get_submodule(node.target))
            node.target = old
    part.delete_all_unused_submodules()
    part.recompile()


def _of_their_users(graph: Any, where: dict[str, int]) -> dict[str, int]:
    """Parameters that a graph reads belong to the stage that uses them."""
    return {n.name: min((where[u.name] for u in n.users), default=0) for n in graph.nodes if n.op == "get_attr"}
