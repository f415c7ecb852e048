"""What the page of a drift shows: means, contributions and error bars, period by period."""

from __future__ import annotations

from typing import Any

import numpy as np

from arborshap.draw.drawn import name_of_values
from arborshap.game.indices import is_efficient
from arborshap.report.packing import packed
from arborshap.report.wording import unit_sentence
from arborshap.result.drift import Drift


def payload_of_drift(drift: Drift) -> dict[str, Any]:
    """Return the page's data."""
    several = drift.values.ndim == 3
    values = drift.values if several else drift.values[..., np.newaxis]
    errors = drift.standard_error
    means = drift.means if several else drift.means[..., np.newaxis]
    names = drift.output_names or ([str(k) for k in range(values.shape[2])] if several else [""])
    return {
        "periods": drift.periods,
        "since": drift.since,
        "rows": drift.n_rows,
        "players": drift.feature_names,
        "outputs": names,
        "adds_up": is_efficient(drift.index),
        "value_name": name_of_values(drift.index, drift.model_output, drift.unit),
        "unit_says": unit_sentence(drift.unit).split(". ")[0].rstrip(".") + ".",
        "unit": drift.unit.name,
        "values": packed(values.transpose(2, 0, 1)),
        "errors": None
        if errors is None
        else packed((errors if several else errors[..., np.newaxis]).transpose(2, 0, 1)),
        "means": packed(means.T),
    }
