"""Switches of CUDA, which is not there."""

from __future__ import annotations

from typing import Any

from ..functions.settings import get_float32_matmul_precision, set_float32_matmul_precision


class _Matmul:
    """Switches of matrix products on a card."""

    def __init__(self) -> None:
        vars(self).update(allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True,
            allow_fp16_accumulation=False, fp32_precision="ieee")

    @property
    def allow_tf32(self) -> bool:
        """Whether the precision of float32 products is less than ``"highest"``: another way to look at that setting."""
        return get_float32_matmul_precision() != "highest"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in vars(self) and name != "allow_tf32":
            raise AttributeError(f"Unknown attribute {name}")
        if name == "fp32_precision":
            if value not in ("ieee", "tf32", "bf16", "none"):
                raise RuntimeError(f"Unknown precision: {value}")
        elif not isinstance(value, bool):
            if name.endswith("reduction"):
                raise TypeError(f"{name} expects a bool or a tuple/list of bools, but got {type(value)}")
            raise RuntimeError(f"set_{name}_cublas expects a bool, but got {type(value).__name__}")
        if name == "allow_tf32":
            set_float32_matmul_precision("high" if value else "highest")
        else:
            vars(self)[name] = value


matmul = _Matmul()
# Which kernels scaled_dot_product_attention may use on a card; all of them, until they are switched off.
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """``False``."""
    return False


def _switch(name: str) -> tuple[Any, Any]:
    def is_enabled() -> bool:
        return _attention[name]

    def enable(enabled: bool) -> None:
        _attention[name] = bool(enabled)

    is_enabled.__doc__ = f"Whether the {name} kernel of attention may be used on a card."
    enable.__doc__ = f"Allow or forbid the {name} kernel of attention on a card."
    return is_enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = _switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """``False``: there is no card."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def __getattr__(name: str) -> Any:
    if name == "SDPBackend":
        from ..nn.attention import SDPBackend

        return SDPBackend
    from ..names.absent import absent_name

    return absent_name(__name__, name)
