"""Second derivatives of large models: Hessian, Gauss–Newton and Fisher matrices as operators that are never formed.

>>> import wengert as torch
>>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
>>> data = [(torch.ones(5, 3), torch.zeros(5, 2)), (torch.zeros(2, 3), torch.ones(2, 2))]
>>> H = torch.curvature.Hessian(model, torch.nn.MSELoss(), data)
>>> H.shape
(26, 26)
>>> torch.curvature.eigenpairs(H, 2).values.shape
(2,)

They are of SciPy's class ``LinearOperator`` (``pip install 'wengert[curvature]'``); what takes an operator takes any.
See ``docs/curvature.md``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import Diagonal, Trace, diagonal, trace
    from .influence import influence
    from .kfac import KFAC
    from .operators import GGN, Fisher, Hessian
    from .optimizers import NaturalGradient, NewtonCG
    from .spectrum import Eigenpairs, SpectralDensity, eigenpairs, spectral_density

__all__ = ["Diagonal", "Eigenpairs", "Fisher", "GGN", "Hessian", "KFAC", "NaturalGradient", "NewtonCG",
    "SpectralDensity", "Trace", "diagonal", "eigenpairs", "influence", "spectral_density", "trace"]

# Names are imported when they are used: most need SciPy.
_HOMES = {**dict.fromkeys(("GGN", "Fisher", "Hessian"), "operators"), "KFAC": "kfac",
    **dict.fromkeys(("Diagonal", "Trace", "diagonal", "trace"), "estimators"),
    **dict.fromkeys(("Eigenpairs", "SpectralDensity", "eigenpairs", "spectral_density"), "spectrum"),
    "influence": "influence", **dict.fromkeys(("NaturalGradient", "NewtonCG"), "optimizers")}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
