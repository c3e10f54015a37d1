"""``utils.tensorboard.summary``: single entries of TensorBoard's files, made by tensorboardX."""

from __future__ import annotations

from tensorboardX.summary import audio, custom_scalars, histogram, hparams, image, pr_curve, scalar, text, video

__all__ = ["audio", "custom_scalars", "histogram", "hparams", "image", "pr_curve", "scalar", "text", "video"]
