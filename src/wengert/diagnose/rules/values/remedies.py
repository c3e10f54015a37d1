"""Why operations give NaN or inf, and what to write instead."""

from __future__ import annotations

_LOG = ("log(0) is -inf, and the logarithm of a negative number is NaN",
    "Keep the argument positive: torch.log(x.clamp(min=eps)) or x + eps; for probabilities use log_softmax, logsigmoid "
    "or a loss on logits.")
_DIV = ("a division by zero: x/0 is inf and 0/0 is NaN",
    "Keep the divisor away from zero: x / (y + eps) or y.clamp(min=eps).")
_SQRT = ("the square root of a negative number is NaN", "Keep the argument from falling below zero: x.clamp(min=eps).")
_EXP = ("exp overflows beyond about 88 in float32",
    "Subtract the maximum before exp (softmax and logsumexp do), or clamp the argument.")
_POW = ("a power of zero with a negative exponent is inf, one of a negative number with a fractional exponent NaN, and "
    "large powers overflow", "Clamp the base (x.clamp(min=eps)) or lower the exponent.")
_SOFTMAX = ("in a row where every entry is -inf, softmax divides 0 by 0",
    "Leave one entry of every row unmasked, mask with a large finite number (torch.finfo(x.dtype).min), or zero such "
    "rows afterwards.")
_STD = ("of one element the unbiased estimate divides 0 by 0",
    "Use unbiased=False (correction=0), or more than one element.")
_CROSS = ("a logit is not finite at the target, or no target counts (all are ignore_index: 0/0)",
    "Look at the logits and targets of this batch; guard the mean of an empty selection.")
_MEAN = ("the mean of no elements is 0/0", "Guard it: divide by max(count, 1), or leave out empty selections.")
_ARC = ("it is defined from -1 to 1 only", "Clamp the argument to [-1 + eps, 1 - eps].")
_LAYER = ("the variance is zero and eps too small", "Use an eps above zero (1e-5).")
_BCE = ("a probability lies outside of 0 to 1", "Use binary_cross_entropy_with_logits on logits.")

#: By operator: why its result is not finite, and the remedy.
FORWARD: dict[str, tuple[str, str]] = {
    "log": _LOG, "log2": _LOG, "log10": _LOG, "log1p": ("log1p(-1) is -inf, and below that NaN", _LOG[1]),
    "div": _DIV, "true_divide": _DIV, "reciprocal": ("1/0 is inf", _DIV[1]), "rsqrt": ("1/sqrt(0) is inf, and of a "
    "negative number NaN", "Add eps: torch.rsqrt(x + eps)."), "sqrt": _SQRT, "exp": _EXP, "expm1": _EXP, "pow": _POW,
    "float_power": _POW, "softmax": _SOFTMAX, "log_softmax": _SOFTMAX, "scaled_dot_product_attention": _SOFTMAX,
    "std": _STD, "var": _STD, "std_mean": _STD, "var_mean": _STD, "cross_entropy_index": _CROSS, "nll_loss": _CROSS,
    "cross_entropy": _CROSS, "mean": _MEAN, "mean_dim": _MEAN, "acos": _ARC, "asin": _ARC, "atanh": _ARC,
    "layer_norm": _LAYER, "batch_norm_channels": _LAYER, "group_norm": _LAYER, "binary_cross_entropy": _BCE,
    "mul": ("0 * inf is NaN, and products of large numbers overflow",
        "Keep both factors finite; select with torch.where instead of multiplying by a mask."),
    "sub": ("inf - inf is NaN", "Keep both arguments finite."), "add": ("inf - inf is NaN",
        "Keep both arguments finite."),
}

_BACK: dict[str, tuple[str, str]] = {
    "Sqrt": ("the derivative of sqrt is inf at 0", "Add eps inside: torch.sqrt(x + eps), or clamp(min=eps)."),
    "Rsqrt": ("the derivative of rsqrt is inf at 0", "Add eps inside: torch.rsqrt(x + eps)."),
    "Pow": ("the derivative of a power with an exponent below 1 is inf at 0", "Add eps to the base: (x + eps) ** p."),
    "Log": ("the derivative 1/x of the logarithm is inf at 0", "Clamp its argument: x.clamp(min=eps)."),
    "Div": ("the derivative divides by the square of a divisor that is zero or nearly so",
        "Keep the divisor away from zero: y.clamp(min=eps)."),
    "Acos": ("its derivative is inf at -1 and 1", "Clamp the argument to [-1 + eps, 1 - eps]."),
    "Asin": ("its derivative is inf at -1 and 1", "Clamp the argument to [-1 + eps, 1 - eps]."),
    "Exp": ("exp overflows", "Clamp its argument."),
    "Eigh": ("equal eigenvalues make the derivative of eigenvectors infinite",
        "Use the eigenvalues only, or add a small random diagonal."),
    "Svd": ("equal or zero singular values make the derivative of the singular vectors infinite",
        "Use the singular values only, or add a small random matrix."),
    "Prod": ("the derivative of a product divides by its factors", "Use exp(sum(log(x))) of clamped factors."),
}


def backward_remedy(operation: str) -> tuple[str, str]:
    """Why the backward of an operation (``Sqrt``) is not finite, and the remedy."""
    name = operation.lower()
    for key in sorted(_BACK, key=len, reverse=True):
        if key.lower() in name:
            return _BACK[key]
    return "", "Keep its arguments where the derivative is finite: add eps, or clamp them."
