"""What a pass is: something that takes a graph module, and gives one and whether it has changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ....nn import Module

__all__ = ["PassResult", "PassBase"]


class PassResult(NamedTuple):
    """What a pass gives."""

    graph_module: Module
    modified: bool


class PassBase(ABC):
    """Base of passes: ``call`` does the work, ``requires`` and ``ensures`` check before and after.

    >>> from wengert.fx.passes.infra.pass_base import PassBase, PassResult
    >>> class Clean(PassBase):
    ...     def call(self, graph_module):
    ...         return PassResult(graph_module, graph_module.graph.eliminate_dead_code())
    >>> Clean()(torch.fx.symbolic_trace(lambda x: (x + 1, x)[1])).modified
    True
    """

    def __call__(self, graph_module: Module) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: Module) -> PassResult | None:
        """Do the work."""

    def requires(self, graph_module: Module) -> None:  # noqa: B027  there may be nothing to check
        """Raise if the pass cannot work on this."""

    def ensures(self, graph_module: Module) -> None:  # noqa: B027
        """Raise if the pass has not done what it should."""
