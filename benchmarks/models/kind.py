"""What a model of the benchmark is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.workloads import train

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.workloads import Step


class Kind(NamedTuple):
    """A model: its name, the ratio of times that it must not exceed, and how its steps are made."""

    name: str
    title: str
    limit: float
    training: Callable[[Any], Step]
    inference: Callable[[Any], Step] | None = None


def predicting(name: str, title: str, limit: float, make: Callable[[Any], tuple[Any, Any]],
        loss: Callable[[Any, Any], Any] | None = None, optimizer: str = "SGD", **options: float) -> Kind:
    """A model and its input, of ``make(torch)``; ``loss(torch, output)``, otherwise cross entropy of classes."""

    def loss_of(torch: Any, y: Any) -> Any:
        if loss is not None:
            return loss(torch, y)
        return torch.nn.functional.cross_entropy(y, torch.arange(y.shape[0]) % y.shape[1])

    def training(torch: Any) -> Step:
        model, x = make(torch)
        given = x if isinstance(x, tuple) else (x,)
        settings = options or {"lr": 0.01}
        return train(model, getattr(torch.optim, optimizer)(model.parameters(), **settings),
            lambda: loss_of(torch, model(*given)))

    def inference(torch: Any) -> Step:
        model, x = make(torch)
        model.eval()
        given = x if isinstance(x, tuple) else (x,)

        def step() -> float:
            with torch.no_grad():
                return float(loss_of(torch, model(*given)).item())

        return step

    return Kind(name, title, limit, training, inference)


def sequential(torch: Any, *layers: Any) -> Any:
    """``nn.Sequential`` of them."""
    return torch.nn.Sequential(*layers)


def mean_square(torch: Any, y: Any) -> Any:
    """A loss of outputs that are near zero."""
    return (y * y).mean()
