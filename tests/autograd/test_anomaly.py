"""Anomaly mode: the forward line of a failing backward, NaN found where it arises, nothing left behind."""

from __future__ import annotations

import gc
import inspect
import warnings
import weakref

import pytest

from tests.makers import ramp_leaf


def failing(torch):
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("deliberate")

    return Failing.apply


def explode_here(torch, x):
    return failing(torch)(x)


def test_a_failing_backward_shows_its_forward(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = explode_here(torch, x).sum()
        with pytest.warns(UserWarning,
                match="Error detected in FailingBackward. Traceback of forward call that caused the error") as caught:
            with pytest.raises((RuntimeError, ValueError), match="deliberate"):
                y.backward()
    text = "".join(str(w.message) for w in caught)
    assert "in explode_here" in text and "test_anomaly.py" in text


def test_without_forward_information(torch):
    x = torch.ones(2, requires_grad=True)
    y = failing(torch)(x).sum()
    with torch.autograd.set_detect_anomaly(True):
        with pytest.warns(UserWarning,
                match="Error detected in FailingBackward. No forward pass information available"):
            with pytest.raises((RuntimeError, ValueError), match="deliberate"):
                y.backward()


def test_nan_is_found_where_it_arises(torch):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = (x.sqrt() * torch.tensor([0.0, 1.0])).sum()
        with pytest.warns(UserWarning, match="Error detected in SqrtBackward0"):
            with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output."):
                y.backward()


def test_nan_in_a_later_output(torch):
    x, w = torch.tensor(float("inf")), torch.tensor(0.0, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x * w
        with pytest.raises(RuntimeError, match="'MulBackward0' returned nan values in its 1th output"):
            y.backward(torch.tensor(0.0))


def test_infinities_are_not_nan(torch):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        (x.sqrt() + (-x).exp() * float("inf")).sum().backward()
        z = torch.tensor([complex(float("inf"), 0)], requires_grad=True)
        (z.real * 1).sum().backward()
    assert torch.isinf(x.grad).any()


def test_check_nan_can_be_left_out(torch):
    x = torch.tensor([0.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        (x.sqrt() * 0).sum().backward()
    assert torch.isnan(x.grad).all()


def test_backwards_of_backwards_name_both(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return failing(torch)(2 * x * g)

    x = torch.ones(1, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = Twice.apply(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        with pytest.warns(UserWarning, match="Previous calculation was induced by TwiceBackward") as caught:
            with pytest.raises((RuntimeError, ValueError), match="deliberate"):
                g.sum().backward()
    assert any("Error detected in FailingBackward" in str(w.message) for w in caught)


def test_in_place_through_views(torch):
    x = torch.zeros(3, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x * 1
        y[0].sqrt_()
        with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
            (y * 0).sum().backward()


def test_contexts_warn_nest_and_end(torch):
    enabled = torch.is_anomaly_enabled
    assert not enabled()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        manager = torch.autograd.detect_anomaly()
    with manager:
        assert enabled() and torch.is_anomaly_check_nan_enabled()
        with torch.autograd.set_detect_anomaly(False):
            assert not enabled()
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            assert not torch.is_anomaly_check_nan_enabled()
        assert enabled() and torch.is_anomaly_check_nan_enabled()
    assert not enabled()
    torch.autograd.set_detect_anomaly(True)
    assert enabled()
    torch.autograd.set_detect_anomaly(False)
    assert not enabled()


def test_gradients_and_hooks_are_as_ever(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp()
        y.register_hook(lambda g: g * 2)
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append(outputs[0].tolist()))
        (y * x).sum().backward(retain_graph=True)
        assert torch.allclose(x.grad, y + 2 * x * x.exp())
        x.grad = None
    (y * x).sum().backward()
    assert torch.allclose(x.grad, y + 2 * x * x.exp()) and len(seen) == 2


def test_nothing_is_left_behind(torch):
    class Marker:
        pass

    def run():
        marker = Marker()
        x = torch.ones(2, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            y = (x * 2).exp()
            y.grad_fn.metadata["marker"] = marker
            (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            g.sum().backward()
        x.grad = None
        return weakref.ref(marker)

    ref = run()
    gc.collect()
    assert ref() is None


def test_nan_of_a_custom_function_is_attributed(torch):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, first, second, choose):
            ctx.choose = choose
            return first.sum(0, keepdim=True)

        @staticmethod
        def backward(ctx, g):
            bad = g.clone().expand(10)
            bad[0] = 0
            bad[0] /= 0
            return (bad, None, None) if ctx.choose else (None, bad, None)

    x = torch.rand(10, requires_grad=True)
    Half.apply(x, x, True).backward()
    out = Half.apply(x, x, True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="Function 'HalfBackward' returned nan values in its 0th output."):
            with torch.autograd.detect_anomaly():
                out.backward()
    assert "No forward pass information" in str(caught[-1].message)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="Function 'HalfBackward' returned nan values in its 1th output."):
            with torch.autograd.detect_anomaly():
                Half.apply(x, x, False).backward()
    assert "Half.apply" in str(caught[-1].message)


def test_the_mode_is_for_all_threads(torch):
    import threading

    x = torch.zeros(2, requires_grad=True)
    found = []

    def elsewhere():
        found.append(torch.is_anomaly_enabled())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (x.sqrt() * 0).sum().backward()
        except RuntimeError as error:
            found.append(str(error))

    (x.sqrt() * 0).sum().backward()
    with torch.autograd.set_detect_anomaly(True):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert found[0] is True and "Function 'SqrtBackward0' returned nan values" in found[1]
    assert not torch.is_anomaly_enabled()


def test_metadata_says_where_and_inside_what(torch):
    def line_of_the_square(x):
        return x**2

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = line_of_the_square(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert any("line_of_the_square" in str(row) for row in y.grad_fn.metadata["traceback_"])
    assert "parent_" not in y.grad_fn.metadata
    assert g.grad_fn.metadata["parent_"] is not None
    assert "traceback_" not in (x * 2).grad_fn.metadata


def test_an_error_in_a_hook_belongs_to_its_node(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp()

        def refuse(g):
            raise ValueError("hook")

        y.register_hook(refuse)
        with pytest.warns(UserWarning, match="Error detected in ExpBackward0"), pytest.raises(ValueError, match="hook"):
            (y * 2).sum().backward()


def test_parents_die_with_the_graph(torch):
    class Marker:
        pass

    x = torch.randn(2, 2, requires_grad=True)
    y = x.exp()
    with torch.autograd.set_detect_anomaly(True):
        grads = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
    marker = Marker()
    y.grad_fn.metadata[0] = marker
    ref = weakref.ref(marker)
    del marker
    assert ref() is not None
    del y, grads
    assert ref() is None


def test_each_calculation_has_a_warning_of_its_own(torch):
    class Spoilt(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    class Squared(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return Spoilt.apply(g * ctx.saved_tensors[0])

    x = torch.rand(3, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="returned nan values"), torch.autograd.detect_anomaly():
            (g,) = torch.autograd.grad(Squared.apply(x).sum(), x, create_graph=True)
            g.sum().backward()
    texts = [str(w.message) for w in caught]
    assert "Anomaly Detection has been enabled" in texts[0]
    assert "Error detected in SpoiltBackward" in texts[1] and "Spoilt.apply" in texts[1]
    assert "Previous calculation was induced by SquaredBackward" in texts[2] and "Squared.apply" in texts[2]


def test_where_warnings_are_errors_the_failure_is_told_on_stderr(torch, capfd):
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            warnings.simplefilter("error")
            y = x + 1
            z = y**2
            y += 1
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                z.sum().backward()
    assert "Error detected in PowBackward0" in capfd.readouterr().err


def test_the_recorded_stack_ends_at_the_users_line():
    import wengert as torch

    with torch.autograd.detect_anomaly(check_nan=False):
        y = torch.nn.functional.cross_entropy(torch.ones(2, 3, requires_grad=True), torch.tensor([0, 1]))
    told = list(y.grad_fn.metadata["traceback_"])
    assert told and inspect.currentframe().f_code.co_name in told[-1] and "cross_entropy" in told[-1]


def test_anomaly_mode_looks_into_sparse_gradients(torch):
    x = ramp_leaf(torch, 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            (x.to_sparse().to_dense() * 2).sum().backward()
            w = ramp_leaf(torch, 3, 2)
            torch.nn.functional.embedding(torch.tensor([0, 1, 0]), w * 1, sparse=True).sum().backward()
    assert x.grad.to_dense().sum() == 2 * (x != 0).sum() and w.grad.to_dense().tolist() == [[2, 2], [1, 1], [0, 0]]
