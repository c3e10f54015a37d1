"""The operators that generated tests go through, by PyTorch's names, each with sample calls.

Most samples are those of the operator's own tests (``samples``); what has none there has some here.
"""

from __future__ import annotations

from typing import Any

from ....arrays.dtypes import NAMES
from ....tensor.tensor import Tensor
from .core import BinaryUfuncInfo, OpInfo, ReductionOpInfo, ShapeFuncInfo, SpectralFuncInfo, UnaryUfuncInfo
from .samples import ANY_VALUE, NO_SECOND, SAMPLES
from .sampling import A, C, I, P, Sample, call, pairs, unary

__all__ = ["op_db"]

FLOAT = NAMES["float32"]
_NAMES: dict[Any, str] = {
    UnaryUfuncInfo: """
        abs acos acosh angle asin asinh atan atanh bfloat16 bitwise_not bool byte cdouble ceil cfloat char conj conj_physical cos cosh
        deg2rad digamma double erf erfc erfinv exp exp2 expm1 fill float floor frac frexp half i0  int isfinite isinf isnan isneginf
        isposinf isreal lgamma log log10 log1p log2 logical_not logit long nan_to_num neg nn.functional.celu nn.functional.elu
        nn.functional.hardshrink nn.functional.hardsigmoid nn.functional.hardtanh nn.functional.logsigmoid nn.functional.mish
        nn.functional.prelu nn.functional.relu nn.functional.relu6 nn.functional.selu nn.functional.silu nn.functional.softplus
        nn.functional.softshrink nn.functional.softsign nn.functional.tanhshrink nn.functional.threshold positive rad2deg real reciprocal
        round rsqrt sgn short sigmoid sign signbit sin sinc sinh special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0
        special.bessel_y1 special.entr special.erfcx special.i0e special.i1 special.i1e special.log_ndtr special.modified_bessel_i0
        special.modified_bessel_i1 special.modified_bessel_k0 special.modified_bessel_k1 special.ndtr special.ndtri
        special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 special.spherical_bessel_j0 sqrt square tan tanh trunc
    """,
    BinaryUfuncInfo: """
        __radd__ __rand__ __rdiv__ __rmul__ __ror__ __rpow__ __rsub__ __rxor__ add atan2 bitwise_and bitwise_left_shift bitwise_or
        bitwise_right_shift bitwise_xor clamp_max clamp_min complex copysign eq float_power floor_divide fmax fmin fmod gcd ge gt heaviside
        hypot igamma igammac isclose lcm ldexp le logaddexp logical_and logical_or logical_xor lt maximum minimum mul ne nextafter polar pow
        remainder rsub special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v
        special.chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he special.laguerre_polynomial_l
        special.legendre_polynomial_p special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u
        special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w special.xlog1py special.zeta sub true_divide xlogy
    """,
    OpInfo: """
        H T __getitem__ __rmatmul__ addbmm addcdiv addcmul addmm addmv addr alias_copy aminmax argsort argwhere as_strided
        as_strided_scatter atleast_1d atleast_2d atleast_3d baddbmm block_diag bmm broadcast_tensors broadcast_to bucketize cartesian_prod
        cat cdist cholesky cholesky_inverse cholesky_solve chunk clamp clone column_stack combinations constant_pad_nd contiguous corrcoef
        cov cross cummax cummin cumprod cumsum cumulative_trapezoid diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff
        dist dot dsplit dstack einsum empty_like equal expand expand_as expand_copy fft.fftshift fft.ifftshift flatten flip fliplr flipud
        full_like gather geqrf gradient histc hsplit hstack index_add index_copy index_fill index_put index_select inner isin  kron
        kthvalue lerp linalg.cholesky linalg.cholesky_ex linalg.cond linalg.cross linalg.det linalg.diagonal linalg.eig linalg.eigh
        linalg.eigvals linalg.eigvalsh linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq linalg.lu linalg.lu_factor
        linalg.lu_factor_ex linalg.lu_solve linalg.matrix_norm linalg.matrix_power linalg.matrix_rank linalg.multi_dot linalg.norm
        linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.solve_ex linalg.solve_triangular linalg.svd linalg.svdvals linalg.tensorinv
        linalg.tensorsolve linalg.vander linalg.vecdot log_softmax logaddexp2 logcumsumexp logdet logsumexp lu_solve lu_unpack mH mT
        masked.cumprod masked.cumsum masked.log_softmax masked.logaddexp masked.median masked.normalize masked.softmax masked.softmin
        masked_fill masked_scatter masked_select matmul matrix_exp median mm mode movedim msort mv nanmedian nanquantile narrow narrow_copy
        native_group_norm native_layer_norm nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d
        nn.functional.adaptive_avg_pool3d nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d
        nn.functional.adaptive_max_pool3d nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d
        nn.functional.batch_norm nn.functional.bilinear nn.functional.binary_cross_entropy_with_logits nn.functional.channel_shuffle
        nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d nn.functional.conv_transpose2d
        nn.functional.conv_transpose3d nn.functional.cosine_embedding_loss nn.functional.cosine_similarity nn.functional.cross_entropy
        nn.functional.ctc_loss nn.functional.embedding nn.functional.gaussian_nll_loss nn.functional.gelu nn.functional.glu
        nn.functional.grid_sample nn.functional.group_norm nn.functional.hardswish nn.functional.hinge_embedding_loss
        nn.functional.huber_loss nn.functional.instance_norm nn.functional.kl_div nn.functional.l1_loss nn.functional.layer_norm
        nn.functional.leaky_relu nn.functional.linear nn.functional.local_response_norm nn.functional.margin_ranking_loss
        nn.functional.max_pool1d nn.functional.max_pool2d nn.functional.max_pool3d nn.functional.max_unpool1d nn.functional.max_unpool2d
        nn.functional.max_unpool3d nn.functional.mse_loss nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss
        nn.functional.multilabel_soft_margin_loss nn.functional.nll_loss nn.functional.normalize nn.functional.one_hot
        nn.functional.pairwise_distance nn.functional.pdist nn.functional.pixel_shuffle nn.functional.pixel_unshuffle
        nn.functional.poisson_nll_loss nn.functional.rms_norm nn.functional.scaled_dot_product_attention nn.functional.smooth_l1_loss
        nn.functional.soft_margin_loss nn.functional.softmin nn.functional.triplet_margin_loss nn.functional.unfold
        nn.functional.upsample_bilinear nn.functional.upsample_nearest nonzero norm ones_like ormqr outer permute permute_copy pinverse put
        qr quantile rand_like randn_like ravel renorm repeat_interleave reshape reshape_as resolve_conj resolve_neg roll rot90 scatter
        scatter_add searchsorted select select_scatter slice_scatter softmax sort split split_with_sizes split_with_sizes_copy squeeze
        squeeze_copy stack std_mean stft sum_to_size svd t t_copy take take_along_dim tensor_split tensordot to topk trace transpose
        transpose_copy trapezoid trapz triangular_solve tril triu unbind unbind_copy unflatten unfold unfold_copy unique unique_consecutive
        unsafe_chunk unsafe_split unsqueeze unsqueeze_copy var_mean vdot view view_as view_as_complex view_copy vsplit vstack
        where zeros_like
    """,
    ShapeFuncInfo: """
        tile repeat
    """,
    ReductionOpInfo: """
        all amax amin any argmax argmin count_nonzero linalg.vector_norm masked.amax masked.amin masked.argmax masked.argmin
        masked.logsumexp masked.mean masked.norm masked.prod masked.std masked.sum masked.var mean nanmean nansum prod std sum var
    """,
    SpectralFuncInfo: """
        fft.fft fft.fft2 fft.fftn fft.hfft fft.hfft2 fft.hfftn fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.ihfft2 fft.ihfftn fft.irfft
        fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
    """,
}
_reduced = [call(A(2, 3)), call(A(2, 3), 1), call(A(2, 3), 0, True)]
_MORE: dict[str, list[Sample]] = {
    "as_strided": [call(A(6), (2, 2), (2, 1), 1), call(A(2, 3), (3, 2), (1, 3))],
    "block_diag": [call(A(2, 3), A(1, 2)), call(A(2), A())],
    "__getitem__": [call(A(3, 4), 1), call(A(3, 4), slice(1, 3)), call(A(3, 4), (slice(None), C([0, 2, 0]))), call(A(2, 3), None)],
    "__rdiv__": [call(P(2, 3), 2.5)],
    "__rmatmul__": [call(A(3, 2), A(4, 3)), call(A(3), A(3))],
    "__rpow__": [call(A(2, 3), 2.5)],
    "bucketize": [call(A(2, 3), C([-1.0, 0.0, 1.0]))],
    "empty_like": [call(A(2, 3))],
    "count_nonzero": [call(A(2, 3)), call(A(2, 3), 1)],
    "cov": [call(A(3, 4)), call(A(3, 4), correction=0)],
    "equal": [call(A(2, 3), A(2, 3))],
    "expand_as": [call(A(2, 1), A(2, 3))],
    "full_like": [call(A(2, 3), 2)],
    "floor_divide": pairs(A, P),
    "heaviside": pairs(),
    "geqrf": [call(A(3, 2))],
    "histc": [call(A(5), 4, -1, 1)],
    "index_put": [call(A(4), (C([0, 2, 0]),), A(3), accumulate=True), call(A(3, 2), (C([1, 0]),), A(2, 2))],
    "isin": [call(A(2, 3), A(4))],
    "nanmean": [call(A(2, 3)), call(A(2, 3), 1)],
    "nansum": [call(A(2, 3)), call(A(2, 3), 1)],
    "native_layer_norm": [call(A(2, 3), (3,), A(3), A(3), 1e-5)],
    "linalg.cond": [call(A(3, 3)), call(A(2, 2, 3)), call(A(3, 3), 1)],
    "native_group_norm": [call(A(2, 4, 3), A(4), A(4), 2, 4, 3, 2, 1e-5)],
    "nn.functional.batch_norm": [
        call(A(4, 3), C([0.0, 0.0, 0.0]), C([1.0, 1.0, 1.0]), A(3), A(3), training=True),
        call(A(2, 2, 3), None, None, training=True),
    ],
    "nn.functional.binary_cross_entropy_with_logits": [
        call(A(2, 3), P(2, 3)),
        call(A(3), P(3), reduction="none"),
    ],
    "nn.functional.cross_entropy": [call(A(3, 4), C([1, 0, 3])), call(A(2, 3, 2), C([[0, 2], [1, 1]]), label_smoothing=0.1), call(A(3), C(1))],
    "nn.functional.ctc_loss": [call(A(5, 2, 4), C([[1, 2], [3, 1]]), C([5, 4]), C([2, 1]))],
    "nn.functional.embedding": [call(I(4, 2, 3), A(4, 3))],
    "nn.functional.huber_loss": [call(A(2, 3), A(2, 3)), call(A(3), A(3), reduction="none", delta=0.5)],
    "nn.functional.instance_norm": [call(A(2, 3, 4)), call(A(2, 3, 4, 2), weight=A(3), bias=A(3))],
    "nn.functional.l1_loss": [call(A(2, 3), A(2, 3)), call(A(3), A(3), reduction="sum")],
    "nn.functional.mse_loss": [call(A(2, 3), A(2, 3)), call(A(3), A(3), reduction="none")],
    "nn.functional.multi_margin_loss": [call(A(3, 4), C([1, 0, 3])), call(A(4), C(2), p=2)],
    "nn.functional.nll_loss": [call(A(3, 4), C([1, 0, 3])), call(A(2, 3, 2), C([[0, 2], [1, 1]]), reduction="none")],
    "nn.functional.one_hot": [call(I(4, 5), 4)],
    "nn.functional.smooth_l1_loss": [call(A(2, 3), A(2, 3)), call(A(3), A(3), reduction="sum", beta=0.5)],
    "nn.functional.soft_margin_loss": [call(A(3), C([1.0, -1.0, 1.0])), call(A(2, 2), C([[1.0, -1.0], [-1.0, 1.0]]), reduction="none")],
    "nn.functional.unfold": [call(A(2, 3, 4, 4), 2), call(A(1, 2, 5, 5), (2, 3), padding=1, stride=2)],
    "permute": [call(A(2, 3, 4), (2, 0, 1)), call(A(2, 3), (-1, 0))],
    "qr": [call(A(4, 3))],
    "repeat_interleave": [call(A(2, 3), 2), call(A(2, 3), C([1, 2]), 0)],
    "reshape": [call(A(2, 3), (3, 2)), call(A(2, 3), (-1,)), call(A(2, 0), (0, 4))],
    "reshape_as": [call(A(2, 3), A(3, 2))],
    "searchsorted": [call(C([0.0, 1.0, 2.0]), A(4))],
    "signbit": [call(A(2, 3))],
    "sum_to_size": [call(A(2, 3), (1, 3)), call(A(2, 3), (3,))],
    "svd": [call(A(3, 2))],
    "tile": [call(A(2, 3), (2, 1)), call(A(3), (2, 2))],
    "to": [call(A(2, 3), FLOAT)],
    "trapz": [call(A(2, 4)), call(A(4), dx=0.5)],
    "trapezoid": [call(A(2, 4)), call(A(4), dx=0.5), call(A(3), A(3))],
    "triangular_solve": [call(A(2, 1), A(2, 2))],
    "true_divide": [call(A(2, 3), P(2, 3)), call(A(3, 1), P(1, 2))],
    "unique": [call(A(5)), call(C([3.0, 1.0, 3.0]), return_inverse=True)],
    "unique_consecutive": [call(A(5))],
    "view_as_complex": [call(A(3, 2))],
    "view_as": [call(A(2, 3), A(3, 2))],
}
for _names in (
    "zeros_like ones_like randn_like rand_like T H mT mH nonzero argsort contiguous resolve_conj resolve_neg",
    "bfloat16 bool byte char double float half int long short cdouble cfloat",
):
    _MORE |= {_name: [call(A(2, 3))] for _name in _names.split()}
_MORE |= dict.fromkeys(("all", "any", "argmax", "argmin"), _reduced)
_RANDOM = {"empty_like", "randn_like", "rand_like", "bernoulli"}


def _samples(kind: Any, name: str) -> list[Sample]:
    """The samples of an operator: its own, or the usual ones of its kind."""
    keys = (name.replace(".", "_"), name.rpartition(".")[2])
    found = _MORE.get(name) or next((SAMPLES[k] for k in keys if k in SAMPLES), None)
    if found is None and kind in (UnaryUfuncInfo, BinaryUfuncInfo):
        first = P if name.startswith("special.") or "shift" in name else A
        found = unary(first) if kind is UnaryUfuncInfo else pairs(first, P if "shift" in name else A)
    return found or []


# Names of methods: ``torch`` has no function of that name, or one that is something else.
_METHODS = frozenset(
    (  # noqa: SIM905
        "H T mH mT bfloat16 bool byte char double float half int long short cdouble cfloat contiguous expand expand_as repeat reshape_as "
        "sum_to_size to unfold view view_as __getitem__ __radd__ __rand__ __rdiv__ __rmatmul__ __rmul__ __ror__ __rpow__ __rsub__ __rxor__"
    ).split()
)
_NO_GRADIENT = frozenset("bfloat16 cfloat float half to floor_divide heaviside unique unique_consecutive".split())  # noqa: SIM905
_FACTS: dict[str, dict[str, Any]] = {
    "nn.functional.cross_entropy": {"dtypes": [NAMES[n] for n in ("float16", "bfloat16", "float32", "float64")]},
    # Derivatives hold for logarithms of probabilities, and for what does not depend on the phases of singular vectors.
    "nn.functional.ctc_loss": {"gradcheck_wrapper": lambda op, x, *args, **kwargs: op(x.log_softmax(-1), *args, **kwargs)},
    "svd": {"gradcheck_wrapper": lambda op, *args, **kwargs: op(*args, **kwargs)[1]},
    "linalg.svd": {"gradcheck_wrapper": lambda op, *args, **kwargs: op(*args, **kwargs)[1]},
}


def _info(kind: Any, name: str) -> OpInfo:
    key = next((k for k in (name.replace(".", "_"), name.rpartition(".")[2]) if k in SAMPLES), name)
    facts: dict[str, Any] = {"has_nondeterministic_output": key in ANY_VALUE or name in _RANDOM}
    facts |= _FACTS.get(name, {})
    if name in _NO_GRADIENT:
        facts["supports_autograd"] = facts["supports_forward_ad"] = False
    if key in NO_SECOND:
        facts |= {"supports_gradgrad": False, "supports_fwgrad_bwgrad": False}
    if name in ("H", "T", "mH", "mT"):
        facts |= {"op": _attribute(name), "method_variant": None, "inplace_variant": None}
    elif name in _METHODS:
        facts |= {"op": getattr(Tensor, name), "method_variant": getattr(Tensor, name), "inplace_variant": None}
    return kind(name, samples=_samples(kind, name), **facts)  # type: ignore[no-any-return]


def _attribute(name: str) -> Any:
    def read(x: Any) -> Any:
        return getattr(x, name)

    return read


op_db: list[OpInfo] = [_info(kind, name) for kind, names in _NAMES.items() for name in names.split()]
