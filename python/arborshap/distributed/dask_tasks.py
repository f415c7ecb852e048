"""The work of a Dask worker on one block of an array or one partition of a dataframe."""

from __future__ import annotations

from typing import Any

import numpy as np

from arborshap import TopValues, TreeExplainer
from arborshap.distributed.shipped import ShippedExplainer
from arborshap.distributed.tasks import explained, top_values_of, values_of
from arborshap.game.indices import IndexName, PlayerIndexName
from arborshap.result.axes import output_labels


def values_block(*blocks: Any, sent: ShippedExplainer, options: dict[str, Any], block_id: tuple[int, ...]) -> Any:
    """Explain a block of an array."""
    rows, labels = _with_labels(blocks)
    return values_of(sent, rows, labels, where=f"partition {block_id[0]}", **options)


def top_block(*blocks: Any, sent: ShippedExplainer, options: dict[str, Any], block_id: tuple[int, ...]) -> Any:
    """Keep the largest values of each row of a block, with their players."""
    rows, labels = _with_labels(blocks)
    top = top_values_of(sent, rows, labels, where=f"partition {block_id[0]}", **options)
    packed = np.empty(top.values.shape, [("player", np.int32), ("value", top.values.dtype)])
    packed["player"], packed["value"] = top
    return packed


def _with_labels(blocks: tuple[Any, ...]) -> tuple[Any, Any]:
    return (blocks[0], None) if len(blocks) == 1 else (blocks[0], blocks[1][:, 0])


def explained_frame(
    rows: Any, sent: ShippedExplainer, labels: Any, index: IndexName, dtype: Any, partition_info: dict[str, Any]
) -> Any:
    """Explain a partition of a dataframe."""
    where = f"partition {partition_info['number']}"
    return explained(sent, rows, labels, index, dtype, where).to_frame("pandas")


def with_texts(like: Any) -> Any:
    """Give text columns of an empty frame the type that pandas infers for columns with rows."""
    import pandas as pd

    text = pd.Series(["text"]).dtype
    return like.astype({name: text for name in like.columns if like[name].dtype == object})


def top_frame(
    rows: Any,
    sent: ShippedExplainer,
    labels: Any,
    k: int,
    index: PlayerIndexName,
    dtype: Any,
    partition_info: dict[str, Any],
) -> Any:
    """Keep the largest values of each row of a partition."""
    where = f"partition {partition_info['number']}"
    top = top_values_of(sent, rows, labels, k, index, dtype, where)
    return frame_of_top(sent.explainer(), top, rows.index)


def frame_of_top(explainer: TreeExplainer, top: TopValues, row_index: Any) -> Any:
    """Make a frame of the largest values, with the players as categories."""
    import pandas as pd

    several = top.values.ndim == 3
    names = output_labels(explainer.output_names, explainer.n_outputs)
    columns = {}
    for place in range(top.values.shape[1]):
        for output, name in enumerate(names if several else [""]):
            at = (slice(None), place, output) if several else (slice(None), place)
            label = f"{place + 1}_{name}" if several else f"{place + 1}"
            columns[f"player_{label}"] = pd.Categorical.from_codes(top.players[at], explainer.feature_names)
            columns[f"value_{label}"] = top.values[at]
    return pd.DataFrame(columns, index=row_index)
