"""``train-evaluation`` of a function: ``F.dropout(x)`` drops in evaluation mode too, unless it is told the mode."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ....graph.modes import modes
from ....nn import Module, functional
from ...findings import Finding
from ...places import Place, own_variables, place_of_frame, user_frames
from ...rule import Rule
from ...statements import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...record import Record
    from ...watching import Watching

_NAMES = ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout")


class AlwaysDropping(Rule):
    """Calls in the forward of a module in evaluation mode, where gradients are off, that leave ``training`` out."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.found: dict[Place, Finding] = {}

    def begins(self, watching: Watching) -> None:
        """Watch the functions."""
        for name in _NAMES:
            watching.around(getattr(functional, name), self._dropping)

    def _dropping(self, original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not modes().grad and len(args) < 3 and "training" not in kwargs:
                self._look(args[1] if len(args) > 1 else kwargs.get("p", 0.5))
            return original(*args, **kwargs)

        return call

    def _look(self, p: Any) -> None:
        frame = next(user_frames(), None)
        module = None if frame is None else own_variables(frame).get("self")
        if frame is None or not p or not isinstance(module, Module) or module.training:
            return
        where = place_of_frame(frame)
        if where not in self.found and _plain(where):
            self.found[where] = Finding("train-evaluation", where, f"dropout drops here although "
                f"{type(module).__name__} is in evaluation mode: as a function it does not know the mode, and its "
                "argument training is True.", "pass training=self.training, or use the module nn.Dropout")

    def ended(self) -> Iterable[Finding]:
        return self.found.values()


def _plain(where: Place) -> bool:
    """Whether the line has a call of such a function: not that of another function, which was meant to drop."""
    calls = [node for node in ast.walk(tree(where.file)) if isinstance(node, ast.Call)
        and node.lineno <= where.line <= (node.end_lineno or node.lineno)]
    return any(isinstance(node.func, (ast.Attribute, ast.Name)) and (node.func.attr if isinstance(
        node.func, ast.Attribute) else node.func.id) in _NAMES for node in calls)
