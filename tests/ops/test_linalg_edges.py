"""Linear algebra where the generated tests do not go: symmetric and complex input, singular
matrices, messages, names.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import wengert as torch

L = torch.linalg
STEP = 1e-6


def draw(*shape, seed=0, complex_=False):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    return a + 1j * rng.standard_normal(shape) if complex_ else a


def check(f, *arrays, order=1):
    """The gradient of the real function ``f``, and with ``order=2`` that of a projection of it, against central
    differences.
    """
    ins = [torch.tensor(a, requires_grad=True) for a in arrays]
    grads = torch.autograd.grad(f(*ins), ins, create_graph=order == 2)
    ways = [draw(*a.shape, seed=7 + i, complex_=a.dtype.kind == "c") for i, a in enumerate(arrays)]

    def along(xs, ds):
        return sum(float(np.real(np.sum(np.conj(x.detach().numpy()) * d))) for x, d in zip(xs, ds))

    def at(sign):
        return [torch.tensor(a + sign * STEP * w, requires_grad=True) for a, w in zip(arrays, ways)]

    numeric = (float(f(*at(1))) - float(f(*at(-1)))) / (2 * STEP)
    assert numeric == pytest.approx(along(grads, ways), rel=1e-5, abs=1e-6)
    if order == 2:
        probes = [draw(*a.shape, seed=17 + i, complex_=a.dtype.kind == "c") for i, a in enumerate(arrays)]

        def projected(sign):
            xs = at(sign)
            return along(torch.autograd.grad(f(*xs), xs), probes)

        numeric = (projected(1) - projected(-1)) / (2 * STEP)
        live = [(g, torch.tensor(p)) for g, p in zip(grads, probes) if g.requires_grad]
        second = torch.autograd.grad([g for g, _ in live], ins, [p for _, p in live], allow_unused=True)
        found = along([s for s in second if s is not None], [w for s, w in zip(second, ways) if s is not None])
        assert numeric == pytest.approx(found, rel=1e-4, abs=1e-5)


def hermitian(a):
    return a @ a.mH + 2 * torch.eye(a.shape[-1])


def weighed(x, seed=3):
    """A real number that depends on every element."""
    w = torch.tensor(draw(*x.shape, seed=seed, complex_=x.is_complex()))
    return (x * w).real.sum() if x.is_complex() else (x * w).sum()


# Functions of a matrix, real-valued and independent of what a decomposition leaves open (signs, phases).
INVARIANT = {
    "cholesky": lambda a: weighed(L.cholesky(hermitian(a))),
    "cholesky upper": lambda a: weighed(L.cholesky(hermitian(a), upper=True)),
    "cholesky_ex": lambda a: weighed(L.cholesky_ex(hermitian(a)).L),
    "cholesky_solve": lambda a: weighed(torch.cholesky_solve(a, L.cholesky(hermitian(a)))),
    "cholesky_solve upper": lambda a: weighed(
        torch.cholesky_solve(a, L.cholesky(hermitian(a), upper=True), upper=True)),
    "cholesky_inverse upper": lambda a: weighed(
        torch.cholesky_inverse(L.cholesky(hermitian(a), upper=True), upper=True)),
    "cholesky_inverse": lambda a: weighed(torch.cholesky_inverse(L.cholesky(hermitian(a)))),
    "eigh": lambda a: (lambda v: weighed((v.eigenvectors * v.eigenvalues.sin().unsqueeze(-2)) @ v.eigenvectors.mH))(
        L.eigh(hermitian(a))),
    "eigh upper": lambda a: L.eigh(hermitian(a),
        "U").eigenvalues.pow(2).sum() + L.eigh(hermitian(a)).eigenvectors.abs().pow(4).sum(),
    "eigvalsh": lambda a: weighed(L.eigvalsh(hermitian(a))),
    "eig": lambda a: L.eig(a).eigenvectors.abs().pow(4).sum() + L.eig(a).eigenvalues.abs().sin().sum(),
    "eigvals": lambda a: L.eigvals(a).abs().pow(3).sum(),
    "svd": lambda a: (lambda d: weighed((d.U * d.S.sin().unsqueeze(-2)) @ d.Vh))(L.svd(a, full_matrices=False)),
    "svd wide": lambda a: (lambda d: weighed((d.U * d.S.sin().unsqueeze(-2)) @ d.Vh))(
        L.svd(a[..., :2, :], full_matrices=False)),
    "svd tall": lambda a: (lambda d: weighed((d.U * d.S.sin().unsqueeze(-2)) @ d.Vh))(
        L.svd(a[..., :2], full_matrices=False)),
    "qr": lambda a: L.qr(a).Q.abs().pow(4).sum() + weighed(L.qr(a).R.mH @ L.qr(a).R),
    "qr wide": lambda a: L.qr(a[..., :2, :]).R.abs().pow(3).sum(),
    "nuc": lambda a: L.matrix_norm(a, "nuc").sum(),
    "2": lambda a: L.matrix_norm(a, 2).sum(),
    "pinv": lambda a: weighed(L.pinv(a[..., :2])),
    "pinv hermitian": lambda a: weighed(L.pinv(a + a.mH, hermitian=True)),
    "lu": lambda a: weighed(L.lu(a).L) + weighed(L.lu(a).U),
    "lu_solve": lambda a: weighed(L.lu_solve(*L.lu_factor(a), torch.ones(3, 2, dtype=a.dtype), adjoint=True)),
    "slogdet": lambda a: weighed(L.slogdet(a).sign) + weighed(L.slogdet(a).logabsdet),
    "matrix_exp": lambda a: weighed(L.matrix_exp(a)),
    "cond": lambda a: L.cond(a).sum() + L.cond(a, 1).sum(),
    "inf norm": lambda a: L.vector_norm(a, float("inf")),
    "norm 3": lambda a: L.vector_norm(a, 3),
    "norm 2": lambda a: L.vector_norm(a),
}


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("name", INVARIANT)
def test_decompositions(name, complex_):
    f = INVARIANT[name]
    # a piecewise linear function has no second derivative to compare
    order = 1 if name == "inf norm" and not complex_ else 2
    check(f, draw(3, 3, complex_=complex_), order=order)
    if name not in ("lu_solve", "inf norm", "norm 3", "norm 2"):
        check(f, draw(2, 3, 3, seed=5, complex_=complex_))


def test_half_of_a_hermitian_matrix_is_read():
    a = draw(3, 3)
    low, high = np.tril(a) + np.tril(a, -1).T, np.triu(a) + np.triu(a, 1).T
    np.testing.assert_allclose(L.eigvalsh(torch.tensor(a)).numpy(), np.linalg.eigvalsh(low))
    np.testing.assert_allclose(L.eigvalsh(torch.tensor(a), "U").numpy(), np.linalg.eigvalsh(high))


def test_phase_dependent_loss_is_refused():
    a = torch.tensor(draw(3, 3, complex_=True), requires_grad=True)
    for vectors in (lambda: L.eigh(a + a.mH).eigenvectors, lambda: L.svd(a).U, lambda: L.eig(a).eigenvectors):
        with pytest.raises(RuntimeError, match=re.escape("specified up to multiplication by e^{i phi}")):
            weighed(vectors()).backward()


def test_values_alone_survive_repeated_eigenvalues():
    """A decomposition whose vectors nobody used has a gradient where its vectors have none."""
    a = torch.eye(3, dtype=torch.float64, requires_grad=True)
    for values in (lambda: L.svd(a).S, lambda: L.eigh(a).eigenvalues):
        (g,) = torch.autograd.grad(values().sum(), a)
        np.testing.assert_allclose(g.numpy(), np.eye(3), atol=1e-12)


def test_full_svd_differentiates_through_the_unique_part():
    a = torch.tensor(draw(4, 2), requires_grad=True)
    d = L.svd(a)
    assert d.U.shape == (4, 4)
    (g,) = torch.autograd.grad(d.S.sum(), a)
    np.testing.assert_allclose(g.numpy(), (d.U[:, :2] @ d.Vh).detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("rank", [1, 2])
def test_gradient_of_a_singular_determinant(rank):
    a = draw(3, rank, seed=1) @ draw(rank, 3, seed=2)
    x = torch.tensor(a, requires_grad=True)
    (g,) = torch.autograd.grad(L.det(x), x)
    minors = [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)]
        for i in range(3)]
    np.testing.assert_allclose(g.numpy(), minors, atol=1e-12)


def test_gradient_at_a_zero_vector_is_zero():
    for p in (2, 1, 3, 1.5, 0.5):
        x = torch.zeros(3, requires_grad=True)
        L.vector_norm(x, p).backward()
        assert x.grad.tolist() == [0, 0, 0]
    x = torch.zeros(3, requires_grad=True)
    L.vector_norm(x, 0).backward()
    assert x.grad is None  # a count: PyTorch leaves the gradient undefined
    x = torch.tensor([2.0, -2.0, 1.0], requires_grad=True)
    L.vector_norm(x, float("inf")).backward()  # shared among equals
    assert x.grad.tolist() == [0.5, -0.5, 0.0]


# -- against NumPy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 5), (3, 6), (6, 3), (70, 70), (40, 90)])
@pytest.mark.parametrize("complex_", [False, True])
def test_lu_puts_the_matrix_together(m, n, complex_):
    a = draw(2, m, n, complex_=complex_)
    P, low, high = L.lu(torch.tensor(a))
    np.testing.assert_allclose((P.to(low.dtype) @ low @ high).numpy(), a, atol=1e-12)
    assert (low.abs() <= 1 + 1e-12).all() or complex_
    again = torch.lu_unpack(*L.lu_factor(torch.tensor(a)))
    for x, y in zip(again, (P, low, high)):
        np.testing.assert_array_equal(x.numpy(), y.numpy())


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_triangular_solve_against_the_product(upper, left):
    a = torch.tensor(draw(2, 50, 50) + 20 * np.eye(50))
    triangle = a.triu() if upper else a.tril()
    b = torch.tensor(draw(2, 50, 50, seed=1))
    x = L.solve_triangular(a, b, upper=upper, left=left)
    np.testing.assert_allclose((triangle @ x if left else x @ triangle).numpy(), b.numpy(), atol=1e-9)


@pytest.mark.parametrize("kind", ["symmetric", "complex symmetric", "hermitian"])
def test_ldl(kind):
    a = draw(2, 12, 12, complex_=kind != "symmetric")
    a = a + (a.conj() if kind == "hermitian" else a).swapaxes(-1, -2)
    ld, pivots = L.ldl_factor(torch.tensor(a), hermitian=kind == "hermitian")
    b = torch.tensor(draw(2, 12, 3).astype(a.dtype))
    x = L.ldl_solve(ld, pivots, b, hermitian=kind == "hermitian")
    np.testing.assert_allclose(a @ x.numpy(), b.numpy(), atol=1e-9)


def test_matrix_exp_over_scales():
    for scale in (1e-9, 1e-2, 1.0, 30.0):
        a = scale * draw(4, 4)
        values, vectors = np.linalg.eig(a)
        expected = (vectors * np.exp(values)) @ np.linalg.inv(vectors)
        np.testing.assert_allclose(L.matrix_exp(torch.tensor(a)).numpy(), expected.real, rtol=1e-9,
            atol=1e-9 * np.abs(expected).max())


EQUATIONS = [
    ("ij,jk", (2, 3), (3, 4)), ("bij,bkj->ikb", (2, 3, 4), (2, 5, 4)), ("ijk,kl,jm->ilm", (2, 3, 4), (4, 2), (3, 2)),
    ("ii", (3, 3)), ("iji->j", (2, 3, 2)), ("...i,...i->...", (2, 3), (1, 3)), ("i,i,i->", (3,), (3,), (3,)),
    ("ab,cd->dbca", (2, 3), (4, 5)), ("a,b,c,d->bd", (2,), (3,), (4,), (5,)), ("...", (2, 3)), ("i...->...", (2, 3, 4)),
    (" ij , jk -> ki ", (2, 3), (3, 2)),
]


@pytest.mark.parametrize("case", EQUATIONS, ids=[c[0] for c in EQUATIONS])
def test_einsum_against_numpy(case):
    equation, *shapes = case
    arrays = [draw(*s, seed=i) for i, s in enumerate(shapes)]
    got = torch.einsum(equation, *map(torch.tensor, arrays))
    np.testing.assert_allclose(got.numpy(), np.einsum(equation, *arrays), atol=1e-12)
    np.testing.assert_allclose(torch.einsum(equation, list(map(torch.tensor, arrays))).numpy(), got.numpy())


def test_einsum_broadcasts_sizes_of_one():
    a, b = torch.ones(1, 3), torch.ones(2, 3)
    assert torch.einsum("ij,ij->i", a, b).tolist() == [3, 3]
    assert torch.einsum("ij,ij->", a, b).item() == 6


def test_short_time_transform_there_and_back():
    x = torch.tensor(draw(2, 50), requires_grad=True)
    window = torch.tensor(np.hanning(12) + 0.1)
    y = torch.istft(torch.stft(x, 12, window=window, return_complex=True), 12, window=window, length=50)
    np.testing.assert_allclose(y.detach().numpy()[:, :48], x.detach().numpy()[:, :48], atol=1e-12)
    (g,) = torch.autograd.grad(y[:, :48].sum(), x)
    np.testing.assert_allclose(g.numpy()[:, :40], 1, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_fourier_transforms_against_numpy(n, norm):
    a, c = draw(3, n), draw(3, n, complex_=True)
    pairs = [("fft", c), ("ifft", a), ("rfft", a), ("ihfft", a), ("fft2", a), ("rfftn", a), ("ifftn", c)]
    if n > 1:
        pairs += [("irfft", c), ("hfft", c), ("irfft2", c)]
    for name, x in pairs:
        np.testing.assert_allclose(getattr(torch.fft, name)(torch.tensor(x), norm=norm).numpy(),
            getattr(np.fft, name)(x, norm=norm), atol=1e-12)


def test_fourier_precision_and_types():
    assert torch.fft.fft(torch.ones(4)).dtype == torch.complex64
    assert torch.fft.irfft(torch.ones(3)).dtype == torch.float32
    assert torch.fft.rfft(torch.ones(4, dtype=torch.int64)).dtype == torch.complex64
    assert torch.fft.fftfreq(3, dtype=torch.float64, requires_grad=True).requires_grad


# -- what is refused ---------------------------------------------------------------------------------------------------

one, zero, wide = torch.eye(3), torch.zeros(3, 3), torch.ones(2, 3)
pair = torch.stack([one, zero])
SINGULAR = {
    "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input matrix is "
    "singular.": lambda: L.inv(zero),
    "linalg.inv: (Batch element 1): The diagonal element 1 is zero": lambda: L.inv(pair),
    "linalg.inv_ex: The diagonal element 1": lambda: L.inv_ex(zero, check_errors=True),
    "torch.linalg.solve: The solver failed because the input matrix is singular.": lambda: L.solve(zero, one),
    "torch.linalg.solve: (Batch element 1): The solver failed": lambda: L.solve(pair, one),
    "linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the leading "
    "minor of order 1 is not positive-definite).": lambda: L.cholesky(-one),
    "linalg.cholesky: (Batch element 1): ": lambda: L.cholesky(torch.stack([one, -one])),
    "cholesky: The factorization": lambda: torch.cholesky(-one),
    "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.": lambda: L.svd(
        zero / 0),
    "linalg.eigh: The algorithm failed to converge": lambda: L.eigh(zero / 0),
}
REFUSED = {
    "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices": lambda: L.inv(wide),
    "linalg.inv: The input tensor A must have at least 2 dimensions.": lambda: L.inv(torch.ones(3)),
    "linalg.inv: Low precision dtypes not supported. Got Half": lambda: L.inv(one.half()),
    "linalg.inv: Expected a floating point or complex tensor as input. Got Long": lambda: L.inv(one.long()),
    "linalg.solve: Incompatible shapes of A and B for the equation AX = B (3x3 and 2x1)": lambda: L.solve(one,
        torch.ones(2)),
    "Expected A and B to have the same dtype, but found A of type Float and B of type Double": lambda: L.solve(one,
        one.double()),
    "linalg.lu_factor: LU without pivoting is not implemented on the CPU": lambda: L.lu_factor(one, pivot=False),
    "torch.linalg.lu_factor: U[1,1] is zero and using it on lu_solve would result in a division by zero.": lambda:
    L.lu_factor(zero),
    "LU_pivots is expected to be a contiguous tensor of torch.int32 dtype": lambda: torch.lu_unpack(one,
        torch.tensor([1, 2, 3])),
    "qr received unrecognized mode 'foo'": lambda: L.qr(one, "foo"),
    "keyword argument `driver=` is only supported on CUDA": lambda: L.svd(one, driver="gesvd"),
    "Expected UPLO argument to be 'L' or 'U', but got X": lambda: L.eigh(one, UPLO="X"),
    "torch.linalg.eig: input tensor should not contain infs or NaNs.": lambda: L.eig(zero / 0),
    "parameter `driver` should be one of (gels, gelsy, gelsd, gelss)": lambda: L.lstsq(one, one, driver="foo"),
    "multi_dot(): expected at least 2 tensors but got 1": lambda: L.multi_dot([one]),
    "multi_dot(): tensors 0 and 1 with shapes [3, 3] and [2, 3] cannot be multiplied": lambda: L.multi_dot([one, wide]),
    "linalg.cross: inputs dimension -1 must have length 3. Got 2 and 2": lambda: L.cross(torch.ones(2), torch.ones(2)),
    "no dimension of size 3 in input": lambda: torch.cross(torch.ones(2), torch.ones(2)),
    "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got 1 != 6": lambda:
    L.tensorinv(wide), "Expected a strictly positive integer for 'ind', but got 0": lambda: L.tensorinv(wide, 0),
    "linalg.vector_norm cannot compute the inf norm on an empty tensor": lambda: L.vector_norm(torch.zeros(0),
        float("inf")),
    "linalg.vector_norm: dtype should be floating point or complex, but got Int": lambda: L.vector_norm(wide,
        dtype=torch.int32),
    "linalg.vector_norm: dtype should be real for real inputs": lambda: L.vector_norm(wide, dtype=torch.complex64),
    "should be convertible without narrowing to the specified dtype (Float)": lambda: L.vector_norm(wide.double(),
        dtype=torch.float32),
    "linalg.matrix_norm: Order foo not supported.": lambda: L.matrix_norm(wide, "foo"),
    "linalg.matrix_norm: dims must be different. Got (0, 0)": lambda: L.matrix_norm(wide, dim=(0, 0)),
    "linalg.norm: If dim is specified, it must be of length 1 or 2.": lambda: L.norm(pair, 2, dim=(0, 1, 2)),
    "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D.": lambda: L.norm(pair, 2),
    "cdist only supports non-negative p values": lambda: torch.cdist(wide, wide, -1),
    "X1 and X2 must have the same number of columns. X1: 3 X2: 2": lambda: torch.cdist(wide, torch.ones(2, 2)),
    "bilinear(): input2 size does not match weight size: got 2 but expected 3": lambda: torch.bilinear(wide,
        torch.ones(2, 2), torch.ones(1, 3, 3)),
    "cov(): expected input to have two or fewer dimensions": lambda: torch.cov(pair),
    "Invalid number of data points (0) specified": lambda: torch.fft.fft(torch.zeros(0)),
    'Invalid normalization mode: "foo"': lambda: torch.fft.fft(wide, norm="foo"),
    "rfft expects a real input tensor, but got ComplexFloat": lambda: torch.fft.rfft(wide.cfloat()),
    "FFT dims must be unique": lambda: torch.fft.fftn(wide, dim=(0, 0)),
    "stft requires the return_complex parameter be given for real inputs": lambda: torch.stft(torch.ones(10), 4),
    "Cannot have onesided output if window or input is complex": lambda: torch.stft(torch.ones(10).cfloat(), 4,
        onesided=True),
    "einsum(): the number of subscripts in the equation (3) does not match the number of dimensions (2)": lambda:
    torch.einsum("ijk", wide),
    "einsum(): fewer operands were provided than specified in the equation": lambda: torch.einsum("ij,jk", wide),
    "einsum(): output subscript k does not appear in the equation": lambda: torch.einsum("ij->k", wide),
    "einsum(): output subscript i appears more than once": lambda: torch.einsum("ij->ii", wide),
    "einsum(): subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3": lambda:
    torch.einsum("ij,jk", wide, wide),
    "einsum(): subscript i is repeated for operand 0 but the sizes don't match, 3 != 2": lambda: torch.einsum("ii",
        wide),
}


@pytest.mark.parametrize("text", SINGULAR)
def test_what_has_no_answer(text):
    with pytest.raises(L.LinAlgError, match=re.escape(text)):
        SINGULAR[text]()


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text):
    with pytest.raises(RuntimeError, match=re.escape(text)) as caught:
        REFUSED[text]()
    assert not isinstance(caught.value, L.LinAlgError)


def test_failures_by_info():
    inverse, info = L.inv_ex(pair)
    assert info.tolist() == [0, 1] and info.dtype == torch.int32
    assert torch.equal(inverse[0], one)
    assert L.solve_ex(pair, one).info.tolist() == [0, 1]
    assert L.cholesky_ex(torch.stack([one, torch.diag(torch.tensor([1.0, -1.0, 1.0]))])).info.tolist() == [0, 2]
    assert L.lu_factor_ex(zero).info.item() == 1


def test_names_of_results():
    assert L.svd(one).__match_args__ == ("U", "S", "Vh")
    assert torch.svd(one).__match_args__ == ("U", "S", "V")
    assert torch.slogdet(one).__match_args__ == ("sign", "logabsdet")
    assert L.eigh(one).__match_args__ == ("eigenvalues", "eigenvectors")
    assert L.lstsq(one, one).__match_args__ == ("solution", "residuals", "rank", "singular_values")
    assert torch.triangular_solve(one, one).__match_args__ == ("solution", "cloned_coefficient")
    assert torch.geqrf(one).__match_args__ == ("a", "tau")
    assert repr(torch.qr(one)).startswith("torch.return_types.qr(\nQ=tensor(")


def test_no_gradient_where_qr_has_none():
    x = torch.tensor(draw(3, 2), requires_grad=True)
    with pytest.raises(RuntimeError, match="The derivative of linalg.qr depends on Q"):
        L.qr(x, "r").R.sum().backward()
    with pytest.raises(RuntimeError,
            match="The QR decomposition is not differentiable when mode='complete' and nrows > ncols"):
        L.qr(x, "complete").R.sum().backward()


def test_low_rank_approximations():
    torch.manual_seed(0)
    a = torch.tensor(draw(20, 3) @ draw(3, 8, seed=1))
    U, S, V = torch.svd_lowrank(a, q=3)
    np.testing.assert_allclose(((U * S) @ V.mH).numpy(), a.numpy(), atol=1e-9)
    U, S, V = torch.pca_lowrank(a, q=3)
    np.testing.assert_allclose(((U * S) @ V.mH).numpy(), (a - a.mean(0)).numpy(), atol=1e-9)


def test_half_precision_norm():
    x = torch.full((4096,), 4.0, dtype=torch.float16)
    assert x.norm().item() == 256 and x.norm().dtype == torch.float16


def test_a_triangular_solution_has_the_type_of_the_matrix(torch):
    b = torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
    x = torch.linalg.solve_triangular(2 * torch.eye(3), b, upper=True)
    assert x.dtype == torch.float32
    x.sum().backward()
    assert b.grad.dtype == torch.float64
    assert b.grad.flatten().tolist() == [0.5] * 3


def test_least_squares_of_nothing(torch):
    one = torch.ones(3, 1)
    assert torch.linalg.lstsq(torch.ones(3, 0), one, driver="gels").residuals.tolist() == [0.0]
    assert torch.linalg.lstsq(torch.zeros(3, 2), one, driver="gels").solution.tolist() == [[0.0], [0.0]]
    assert torch.linalg.lstsq(torch.ones(1, 2), torch.ones(1, 0)).rank == 0


def test_operands_of_types_and_batches_that_do_not_fit(torch):
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.linalg.cross(torch.ones(3), torch.ones(3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="boolean"):
        torch.mvlgamma(torch.tensor([True]), 1)
    with pytest.raises(RuntimeError, match="batch dimensions of tau"):
        torch.linalg.householder_product(torch.ones(2, 3, 3), torch.ones(1, 3))


def test_types_that_meet_where_nothing_is_summed(torch):
    a, b = torch.ones(1, 3), torch.full((1, 3), 2.0, dtype=torch.float64)
    assert torch.einsum("ij,ij->j", a, b).dtype == torch.float64
    assert torch.cdist(torch.zeros(2, 0), torch.zeros(3, 0, dtype=torch.float64)).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("n", [1, 17, 40, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_solves_by_factors_of_any_size(n, columns, dtype):
    a = draw(n, n, seed=n)
    a = a @ a.T + n * np.eye(n)
    b = draw(n, columns, seed=1)
    x, lower = np.linalg.solve(a, b), torch.tensor(np.linalg.cholesky(a), dtype=dtype)
    given, near = torch.tensor(b, dtype=dtype), 2e-4 if dtype == torch.float32 else 1e-12
    for factor, upper in ((lower, False), (lower.mT, True), (lower.mT.contiguous(), True)):
        np.testing.assert_allclose(torch.cholesky_solve(given, factor, upper=upper).numpy(), x, near, near)
    one_sided = torch.linalg.solve_triangular(lower, given, upper=False)
    np.testing.assert_allclose((lower @ one_sided).numpy(), b, near, near)
    ones = torch.linalg.solve_triangular(lower.mT / n, given, upper=True, unitriangular=True)
    unit = np.triu(lower.numpy().T / n, 1) + np.eye(n)
    np.testing.assert_allclose(unit @ ones.numpy(), b, near, near)


@pytest.mark.parametrize("kind", ["int64", "int32", "int16", "int8", "uint8"])
@pytest.mark.parametrize("most", [3, 127, 1 << 12, 1 << 24, 1 << 40, 1 << 62])
def test_products_of_whole_numbers_are_exact_or_wrap(torch, kind, most):
    rng = np.random.default_rng(1)
    d = getattr(torch, kind)
    a, b = (rng.integers(-most, most, (2, 40, 40)) for _ in range(2))
    x, y = (torch.tensor(v).to(d) for v in (a, b))
    exact = x.numpy().astype(object) @ y.numpy().astype(object)
    bits = 8 * x.element_size()
    low = 0 if kind == "uint8" else -(1 << (bits - 1))
    wrapped = (exact - low) % (1 << bits) + low
    for got, want in ((x @ y, wrapped), (x[0] @ y[0], wrapped[0]), (x[0].t().contiguous().t() @ y[0], wrapped[0])):
        assert got.dtype == d and got.tolist() == want.tolist()


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(5, 5), (70, 70), (3, 9, 9)])
def test_inverses_from_factors_are_symmetric(shape: tuple[int, ...], upper: bool) -> None:
    a = torch.tensor(draw(*shape))
    a = a @ a.mT + shape[-1] * torch.eye(shape[-1], dtype=a.dtype)
    found = torch.cholesky_inverse(torch.linalg.cholesky(a, upper=upper), upper=upper)
    np.testing.assert_allclose(found.numpy(), np.linalg.inv(a.numpy()), 1e-10, 1e-10)
    assert torch.equal(found, found.mT)
