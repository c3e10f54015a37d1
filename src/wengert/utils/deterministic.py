"""``torch.utils.deterministic``: a switch that changes nothing here, where fresh memory is never shown before it is written."""

from __future__ import annotations

fill_uninitialized_memory = True
