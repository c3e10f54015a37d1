"""The parts of gradcheck that PyTorch's own tests import by their private names."""

import importlib
import sys

import pytest


@pytest.fixture
def parts(torch):
    importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
    return sys.modules[f"{torch.__name__}.autograd.gradcheck"]


@pytest.fixture
def xy(torch):
    return (
        torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True),
        torch.tensor([[3.0], [4.0]], dtype=torch.float64, requires_grad=True),
    )


def two(a, b):
    return a * b, (a * a).sum()


OF_X = ([[3.0, 0.0, 4.0, 0.0], [0.0, 3.0, 0.0, 4.0]], [[2.0], [4.0]])
OF_Y = ([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]], [[0.0], [0.0]])


def shown(tensors):
    return tuple([[round(v, 5) for v in row] for row in t.tolist()] for t in tensors)


def test_jacobians_by_differences(torch, parts, xy):
    x = xy[0]
    found = parts._get_numerical_jacobian(two, xy, eps=1e-6)
    assert type(found) is list and [shown(f) for f in found] == [OF_X, OF_Y]
    assert [shown(f) for f in parts._get_numerical_jacobian(two, xy, target=x, eps=1e-6)] == [OF_X]
    assert len(parts._get_numerical_jacobian(lambda a, b: a * a, (x, torch.ones(2)), eps=1e-6)) == 1
    with pytest.raises(ValueError, match="Expected output to be non-complex"):
        parts._get_numerical_jacobian(lambda a: a * 1j, (x,))
    along = parts._get_numerical_jvp_wrt_specific_input(two, 0, xy, torch.ones(2, dtype=torch.float64), 1e-6)
    assert [[round(v, 5) for v in t.tolist()] for t in along] == [[3.0, 3.0, 4.0, 4.0], [6.0]]


def test_jacobians_by_gradients_and_tangents(torch, parts, xy):
    outputs = two(*xy)
    for i, expected in enumerate((OF_X, OF_Y)):
        assert shown(parts._get_analytical_jacobian(xy, outputs, i, k) for k in (0, 1)) == expected
    for k in (0, 1):
        assert shown(parts._check_analytical_jacobian_attributes(xy, outputs[k], 0.0, True)) == (OF_X[k], OF_Y[k])
    one = torch.ones(4, dtype=torch.float64)
    found = parts._check_analytical_jacobian_attributes(xy, outputs[0], 0.0, False, fast_mode=True, v=one)
    assert shown(found) == ([[7.0], [7.0]], [[3.0], [3.0]])
    assert tuple(shown(f) for f in parts._get_analytical_jacobian_forward_ad(two, xy, outputs)) == (OF_X, OF_Y)
    with pytest.raises(ValueError, match="Expected inputs to be non-complex"):
        parts._get_analytical_jacobian_forward_ad(lambda a: a, (torch.ones(1, dtype=torch.complex128, requires_grad=True),), ())


def test_a_backward_that_differs_from_time_to_time(torch, parts, xy):
    class Restless(torch.autograd.Function):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            Restless.calls += 1
            return g * 2 + Restless.calls

    out = Restless.apply(xy[0])
    with pytest.raises(parts.GradcheckError, match="Backward is not reentrant"):
        parts._check_analytical_jacobian_attributes(xy[:1], out, 0.0, False)
    parts._check_analytical_jacobian_attributes(xy[:1], out, 100.0, False)


def test_rows_and_columns(torch, parts, xy):
    x, y = xy
    out = two(x, y)[0]

    def vjp(v):
        return torch.autograd.grad(out, xy, v, retain_graph=True)

    rows = parts._compute_analytical_jacobian_rows(vjp, out)
    assert [len(r) for r in rows] == [4, 4] and rows[0][0].tolist() == [3.0, 0.0] and rows[1][3].tolist() == [[0.0], [2.0]]
    stacked, sizes, types = parts._stack_and_check_tensors(rows, xy, 4)
    assert shown(stacked) == (OF_X[0], OF_Y[0]) and sizes and types
    (zeros,), sizes, types = parts._stack_and_check_tensors([[None]], (x,), 1)
    assert zeros.tolist() == [[0.0], [0.0]] and sizes and types
    assert parts._stack_and_check_tensors([[torch.ones(2)]], (x,), 1)[1:] == (True, False)
    assert parts._stack_and_check_tensors([[torch.ones(2, 1, dtype=torch.float64)]], (x,), 1)[1:] == (False, True)


def test_tensors_in_structures(torch, parts, xy):
    x, y = xy
    plain = torch.ones(2)
    assert parts._as_tuple(x) == (x,) and parts._as_tuple([x]) == (x,)
    assert [len(list(parts._iter_tensors(v))) for v in (x, [x, [y, plain]], 3, (x, 3))] == [1, 3, 0, 1]
    assert len(list(parts._iter_tensors([x, plain], True))) == 1
    assert parts._differentiable_outputs((x, plain)) == (x,) and parts._get_inp_tensors((plain, 3, x)) == ([2], [x])
    assert [(at, k) for _, at, k in parts._iter_tensor(y)] == [((0, 0), 0), ((1, 0), 1)]
    for held, at, _ in parts._iter_tensor(y):
        held[at] += 1
    assert y.tolist() == [[4.0], [5.0]]
    assert [parts._is_float_or_complex_tensor(v) for v in (x, torch.ones(1, dtype=torch.int64), 3)] == [True, False, False]
    inputs = parts._allocate_jacobians_with_inputs((x, plain, 3), 3)
    outputs = parts._allocate_jacobians_with_outputs((x, plain), 3, dtype=torch.float32)
    assert [tuple(t.shape) for t in inputs] == [(2, 3)] and [(tuple(t.shape), t.dtype) for t in outputs] == [((3, 2), torch.float32)] * 2
    assert parts._transpose([[1, 2], [3, 4]]) == [(1, 3), (2, 4)]
    dense = parts._densify(torch.eye(2).to_sparse())
    assert dense.is_sparse and dense._nnz() == 4


def test_vectors(torch, parts, xy):
    generator = torch.Generator().manual_seed(3)
    vector = parts._vec_from_tensor(xy[0], generator)
    assert torch.allclose(vector, torch.tensor([0.0404, 0.9992], dtype=torch.float64), atol=1e-4)
    v, u, flat = parts._make_vectors(xy[:1], xy[1:], use_forward_ad=False)
    assert torch.allclose(u[0], torch.tensor([0.2929, 0.9561], dtype=torch.float64), atol=1e-4) and flat[0].equal(u[0]) and len(v) == 1
    assert parts._make_vectors(xy[:1], xy[1:], use_forward_ad=True)[0] is None
    real, imaginary = parts._real_and_imag_output(lambda a: a * (1 + 2j))
    assert real(xy[0])[0].tolist() == [1.0, 2.0] and imaginary(xy[0])[0].tolist() == [2.0, 4.0]


def test_steps(torch, parts, xy):
    outputs = two(*xy)
    assert parts._check_inputs(xy) and parts._test_undefined_backward_mode(two, outputs, xy) and parts._test_undefined_forward_mode(two, outputs, xy)
    assert parts._test_batched_grad(xy, outputs[0], 0) and parts._test_batched_grad_forward_ad(two, xy)
    assert parts._test_backward_mul_by_grad_output(two(*xy), xy, False)
    rest = (1e-6, 1e-3, 1e-5, False, 0.0)
    outputs = two(*xy)
    assert parts._slow_gradcheck(two, outputs, xy, outputs, *rest)
    outputs = two(*xy)
    assert parts._fast_gradcheck(two, outputs, xy, outputs, *rest, use_forward_ad=True)
    assert parts._gradcheck_helper(two, xy, 1e-6, 1e-5, 1e-3, 0.0, True, False, False, False, True, True, False, False)
    with pytest.raises(parts.GradcheckError, match="Numerical gradient for function expected to be zero"):
        x = xy[0]
        parts._check_no_differentiable_outputs(lambda a: a.detach(), (x,), (x.detach(),), 1e-6, is_forward_ad=False)
    with pytest.raises(ValueError, match="Sparse output is not supported"):
        parts._check_outputs((torch.eye(2).to_sparse(),))

    class Constant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return torch.full((2,), 3.0, dtype=torch.float64)

    out = Constant.apply(xy[0])
    with pytest.raises(parts.GradcheckError, match="backward not multiplied by grad_output"):
        parts._test_backward_mul_by_grad_output((out,), xy[:1], False)
    with pytest.raises(parts.GradcheckError, match="all input grads to be undefined or zero"), pytest.warns(UserWarning, match="Backwards compat"):
        parts._test_undefined_backward_mode(Constant.apply, out, xy[:1])
    with pytest.raises(parts.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"):
        parts._slow_gradcheck(Constant.apply, out, xy[:1], (out,), *rest)


def test_words(torch, parts):
    assert parts.FAILED_BATCHED_GRAD_MSG.startswith("gradcheck or gradgradcheck failed while testing batched gradient computation")
    assert parts.FAST_FAIL_SLOW_OK_MSG.startswith("Fast gradcheck failed but element-wise differences are small.")
    assert "NOTE: If your op relies on non-deterministic operations" in parts.FAILED_NONDET_MSG
    words = parts._get_notallclose_msg(1, 2, 0, 1, [0], True, False)
    assert words.startswith("While considering the imaginary part of complex outputs only, Jacobian mismatch for output 0 with respect to input 1,")
    assert parts._get_notallclose_msg(1, 2, 0, 1, [], False, True).startswith("Jacobian computed with forward mode mismatch")
