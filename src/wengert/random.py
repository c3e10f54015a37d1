"""``torch.random``: the state of the default random stream."""

from __future__ import annotations

from .functions.generators import (
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)


def thread_safe_generator() -> None:
    """The generator of a worker that is a thread: always None, as workers here are processes."""
    return


__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
    "thread_safe_generator"]
