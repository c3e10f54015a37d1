"""Pictures of graphs: ``wengert.draw`` is called with a tensor, or with a module and its inputs.

>>> import wengert as torch
>>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
>>> drawing = torch.draw(model, torch.ones(2, 3))
>>> drawing
<drawing: 2 operations · 2 leaves of 64 B · 32 B saved for the backward>
>>> print(drawing.mermaid().splitlines()[0])
flowchart TB

``wengert.draw.recording`` lets a program note its lines, ``wengert.draw.step`` draws the memory over a training step.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .drawing import Drawing
from .drawing import draw as _draw
from .recording import recording
from .timeline import StepDrawing, step

if TYPE_CHECKING:
    from ..nn import Module

__all__ = ["Drawing", "StepDrawing", "recording", "step"]


class _Draw(ModuleType):
    """This module, which can be called."""

    def __call__(self, what: Any, *inputs: Any, depth: int | None = None, fold: int = 80, saved: bool = True,
            gradients: bool = True, names: Module | dict[str, Any] | Any = None) -> Drawing:
        """A picture of the graph that leads to ``what``: a tensor or several, or what a module or another callable
        gives for ``inputs``; of those, lines and modules are shown.

        It is taken now, and has the norms of gradients after a backward. ``depth``: so many levels of modules are
        unfolded. ``fold``: more boxes are not drawn; modules, lines, or operations that follow on each other become one
        box. ``saved``: show what operations keep, and its bytes. ``gradients``: note and show norms. ``names``: of
        parameters: a module, a dictionary, or pairs; without them they are called as modules and variables have them.

        >>> import wengert as torch
        >>> w = torch.ones(3, requires_grad=True)
        >>> loss = (w * 2).sum()
        >>> drawing = torch.draw(loss)
        >>> loss.backward()
        >>> [round(arrow.norm, 2) for arrow in drawing.graph.arrows if arrow.norm is not None]
        [3.46, 1.73]
        """
        return _draw(what, *inputs, depth=depth, fold=fold, saved=saved, gradients=gradients, names=names)


    recording, step = recording, staticmethod(step)


module = _Draw(__name__, __doc__)
module.__dict__.update({name: value for name, value in globals().items() if name != "module"})
sys.modules[__name__] = module
