"""``utils.model_zoo``: the name that ``torch.hub`` had before."""

from __future__ import annotations

from ..hub import load_state_dict_from_url as load_url
from ..hub import tqdm as tqdm

__all__ = ["load_url"]
