"""Random programs of hooks: what both libraries call, when, and with which gradients.

A program has a small graph and hooks of all kinds on it, which replace gradients, remove and add hooks, raise, ask for
callbacks and run backwards of their own; then come a few backwards, for everything or for some inputs, with and without
the graph kept.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

import wengert

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def numbers(t: Any) -> Any:
    return None if t is None else [float(f"{x:.8g}") for x in t.detach().reshape(-1).tolist()]


class Program:
    """The program number ``seed`` in one library; ``events``: what was called, and what came out."""

    def __init__(self, library: Any, seed: int) -> None:
        self.library, self.random, self.events = library, random.Random(seed), []  # type: Any, random.Random, list[Any]
        self.handles: list[Any] = []
        self.inside = False
        self.build()
        for tag in range(self.random.randint(2, 8)):
            try:
                self.put_hook(tag)
            except Exception as error:
                self.saw("refused", type(error).__name__)
        for _ in range(self.random.randint(1, 3)):
            self.backward()
        for x in self.leaves:  # under create_graph they hold their graphs
            x.grad = None

    def saw(self, *event: Any) -> None:
        self.events.append(event)

    def build(self) -> None:
        lib, draw, saw = self.library, self.random, self.saw

        class Two(lib.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, a: Any, b: Any) -> Any:
                ctx.save_for_backward(a, b)
                return a * b, a + b

            @staticmethod
            def backward(ctx: Any, g: Any, h: Any) -> Any:
                saw("two")
                a, b = ctx.saved_tensors
                return g * b + h, g * a + h

        def turned(a: Any, b: Any) -> Any:
            first, second = a.unbind(0)
            return lib.stack([second, first]) if draw.random() < 0.7 else first * b

        steps = [
            lambda a, b: a * b, lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a.sin(), lambda a, b: a * 2 - b,
            turned, Two.apply, lambda a, b: a.clone().mul_(b.detach()), lambda a, b: lib.cat([a, b])[1:3],
            lambda a, b: a.tanh() + a,
        ]
        values = [[draw.uniform(0.5, 1.5) for _ in range(2)] for _ in range(draw.randint(2, 5))]
        self.leaves = [lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in values]
        self.results: list[Any] = []
        for _ in range(draw.randint(4, 10)):
            pool = self.leaves + self.results
            made = draw.choice(steps)(draw.choice(pool), draw.choice(pool))
            self.results += made if isinstance(made, tuple) else (made,)
        roots = [self.results[-1], *([draw.choice(self.results)] if draw.random() < 0.4 else [])]
        self.out = sum((r * r).sum() for r in roots)
        self.pool: Any = self.leaves + self.results
        self.nodes: list[Any] = []
        stack: list[Any] = [self.out.grad_fn]
        while stack:
            node = stack.pop()
            if node is not None and node not in self.nodes:
                self.nodes.append(node)
                stack += [n for n, _ in node.next_functions]

    def act(self, tag: int, deed: str) -> None:
        """What a hook does beside its answer."""
        leaf = self.leaves[tag % len(self.leaves)]
        if deed == "remove" and self.handles:
            self.handles[tag % len(self.handles)].remove()
        elif deed == "add":
            self.handles.append(leaf.register_hook(lambda g: self.saw("added", tag, numbers(g))))
        elif deed == "raise":
            raise ValueError(f"hook {tag}")
        elif deed == "callback":
            self.library.autograd.Variable._execution_engine.queue_callback(lambda: self.saw("callback", tag))
        elif deed in ("apart", "shared") and not self.inside:
            self.inside = True
            try:
                x = leaf if deed == "shared" else leaf.detach().clone().requires_grad_()
                (x * x * self.leaves[0]).sum().backward()
                self.saw("inner", tag, numbers(x.grad))
            finally:
                self.inside = False

    def put_hook(self, tag: int) -> None:
        draw = self.random
        deed = draw.choice(["", "", "", "replace", "remove", "add", "apart", "shared", "callback",
            "raise" if draw.random() < 0.4 else ""])
        factor = 2.0 if deed == "replace" else None

        def scaled(g: Any) -> Any:
            return g if g is None else g * factor

        def on_tensor(g: Any) -> Any:
            self.saw("tensor", tag, numbers(g))
            self.act(tag, deed)
            return scaled(g) if factor else None

        def before(grads: Any) -> Any:
            self.saw("before", tag, [numbers(g) for g in grads])
            self.act(tag, deed)
            return tuple(map(scaled, grads)) if factor else None

        def after(into: Any, came: Any) -> Any:
            self.saw("after", tag, [numbers(g) for g in into], [numbers(g) for g in came])
            self.act(tag, deed)
            return tuple(map(scaled, into)) if factor else None

        kind = draw.randrange(8)
        if kind < 3:
            handle = draw.choice(self.pool).register_hook(on_tensor)
        elif kind == 3:
            handle = draw.choice(self.nodes).register_prehook(before)
        elif kind == 4:
            handle = draw.choice(self.nodes).register_hook(after)
        elif kind == 5:
            draw.choice(self.results).retain_grad()
            return
        elif kind == 6:
            handle = draw.choice(self.leaves).register_post_accumulate_grad_hook(
                lambda x: self.saw("accumulated", tag, numbers(x.grad)))
        else:
            mode = draw.choice(["all", "any"])
            # "all": no leaves, see test_multi_grad_hooks
            tensors = draw.sample(self.pool if mode == "any" else self.results, draw.randint(1, 3))
            handle = self.library.autograd.graph.register_multi_grad_hook(
                tensors, lambda g: self.saw(mode, tag, numbers(g) if mode == "any" else [numbers(x) for x in g]),
                mode=mode
            )
        self.handles.append(handle)

    def backward(self) -> None:
        draw, autograd = self.random, self.library.autograd
        kind, keep, further = draw.randrange(6), draw.random() < 0.8, draw.random() < 0.15
        options: dict[str, Any] = {"retain_graph": keep, "create_graph": further and keep}
        some = draw.sample(self.pool, draw.randint(1, 3))
        self.saw("--", kind)
        try:
            if kind < 3:
                self.out.backward(**options)
            elif kind == 3:
                self.out.backward(inputs=some, retain_graph=keep)
            elif kind == 4:
                self.saw("found", [numbers(g) for g in autograd.grad(self.out, some, allow_unused=True, **options)])
            else:
                autograd.backward([self.out, self.results[0].sum()], retain_graph=keep)
        except Exception as error:
            self.saw("failed", type(error).__name__, str(error)[:40])
        self.saw("leaves", [numbers(x.grad) for x in self.leaves],
            [numbers(t.grad) for t in self.results if t.retains_grad])
        if draw.random() < 0.3:
            for x in self.leaves:
                x.grad = None


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_hooks_are_called_alike(first: int) -> None:
    for seed in range(first, first + 20):
        ours, theirs = Program(wengert, seed).events, Program(torch, seed).events
        assert list(zip([seed] * len(ours), ours)) == list(zip([seed] * len(theirs), theirs))
