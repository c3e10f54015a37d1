"""``torch.utils._contextlib``, whose classes people derive their own switches from."""

import importlib

import pytest


@pytest.fixture
def contextlib(torch):
    return importlib.import_module(f"{torch.__name__}.utils._contextlib")


def test_a_manager_that_decorates(contextlib):
    steps = []

    class Noted(contextlib._DecoratorContextManager):
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            steps.append(f"in {self.name}")

        def __exit__(self, *exc):
            steps.append("out")

        def clone(self):
            return type(self)(self.name)

    @Noted("f")
    def f(x):
        steps.append(x)
        return x

    assert f(1) == 1 and f(2) == 2 and steps == ["in f", 1, "out", "in f", 2, "out"]
    steps.clear()

    @Noted("g")
    def g():
        yield 1
        steps.append("between")
        yield 2

    assert list(g()) == [1, 2] and steps == ["in g", "out", "in g", "between", "out", "in g", "out"]


def test_a_manager_without_arguments(contextlib):
    steps = []

    class Noted(contextlib._NoParamDecoratorContextManager):
        def __enter__(self):
            steps.append("in")

        def __exit__(self, *exc):
            steps.append("out")

    @Noted
    def plain():
        return 5

    assert plain() == 5 and Noted()(lambda: 3)() == 3 and steps == ["in", "out"] * 2
    with Noted():
        steps.append("inside")
    assert steps[-3:] == ["in", "inside", "out"]


def test_functions_in_a_context(contextlib):
    class Both:
        def __enter__(self):
            return self

        def __exit__(self, *exc):
            return None

        def __call__(self):
            return self

    with pytest.raises(AssertionError, match="is both callable and also a valid context manager"):
        contextlib.context_decorator(Both(), lambda: None)
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        contextlib.context_decorator(lambda: Both(), Both)
    assert contextlib.context_decorator(lambda: Both(), lambda: 7)() == 7
