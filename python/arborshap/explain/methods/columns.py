"""Every column by itself, even if the model splits on combinations of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import check_fits, checked_choice
from arborshap._util.notices import warn
from arborshap._util.progress import Report, human_seconds, reporting
from arborshap.exceptions import InputError
from arborshap.explain.announce import LONG
from arborshap.explain.labels import check_no_labels
from arborshap.explain.methods.base import Methods
from arborshap.explain.pairs import Pairs
from arborshap.explain.state import State
from arborshap.explain.values import base_values_of, values_of, without_single_output
from arborshap.game.columns import Apart
from arborshap.game.indices import INDICES, IndexName, order_of_index
from arborshap.result.explanation import Explanation
from arborshap.rows.frames import is_one_row
from arborshap.rows.numbers import Matrix

if TYPE_CHECKING:
    from arborshap.explain.combinations import Combinations


class ColumnMethods(Methods):
    """Columns that play as one player, told apart."""

    def explain_columns(
        self, X: Any, y: Any = None, *, index: IndexName = "shapley", progress: bool | Report = False
    ) -> Explanation:
        """Explain rows with a value for every column (or group), even if CatBoost splits on combinations of columns.

        Such columns play as one player in every other method. Here they are told apart, exactly: trees with
        combinations are evaluated for every pair of a row and a background row, and for every way to take the columns
        of the tree from the one or the other. So the time grows with the rows times the background rows, and doubles
        with each column of a tree.

        Parameters
        ----------
        X
            The rows to explain, in any form that `data` may have, or a single row.
        y
            The label of each row, for a loss only.
        index
            What to compute: ``"shapley"``, ``"taylor"``, ``"interaction"`` or ``"banzhaf"``. Unless `model_output` is
            ``"raw"``, only Shapley values can be computed.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        Explanation
            The values of all columns, or of the groups that the explainer was given. If no columns play as one player,
            these are the values of the explainer itself.
        """
        state = self.state
        checked_choice("index", index, INDICES)
        rows = state.reader.read(X, "X", one=is_one_row(X))
        columns = state.columns.named_by(rows.names)
        apart = columns.apart or Apart(columns.owners, columns.player_names, columns.owners)
        if columns.apart is None:
            _check_nothing_is_mixed(state)
            values = values_of(state, rows.matrix, index, progress=progress, y=y)
        else:
            values = without_single_output(state, _values(state, apart, rows.matrix, y, index, progress))
        base = base_values_of(state, len(values), y)
        explanation = Explanation(
            values,
            base[:, 0] if state.n_outputs == 1 else base,
            feature_names=apart.names,
            index=index,
            model_output=state.model_output,
            data=rows.shown.copy(),
            data_names=columns.names,
            data_players=[apart.names[owner] for owner in apart.owners],
            output_names=self.output_names,
            row_labels=rows.labels,
            frame_kind=rows.frame_kind,
            unit=state.unit,
        )
        return explanation[0] if is_one_row(X) else explanation


def _check_nothing_is_mixed(state: State) -> None:
    """Refuse a pipeline whose steps join columns: only features of CatBoost can be made again of mixed rows."""
    step = getattr(state.reader.pipeline, "joining", None)
    if step is not None:
        raise InputError(
            f"the pipeline's step {step} makes features from several columns at once, and explain_columns can tell "
            "apart only what CatBoost itself combines; use shap_values, which gives such columns one value together"
        )


def _values(
    state: State, apart: Apart, rows: Matrix, y: Any, index: IndexName, progress: bool | Report
) -> NDArray[np.float64]:
    """Compute the values: (rows, players[, players], outputs)."""
    game = _game(state, apart)
    shape = (len(rows), *(game.n_players,) * order_of_index(index), state.n_outputs)
    check_fits(shape, None, state.settings.memory_limit)
    seconds = game.seconds(len(rows)) / state.settings.n_threads
    if progress is False and seconds > LONG:
        warn(
            f"telling the columns of {len(rows):,} rows apart is estimated to take about {human_seconds(seconds)}, "
            f"because trees with combinations of columns are evaluated for each of the {state.n_background:,} "
            "background rows. Fewer background rows make it faster; progress=True shows the time left"
        )
    rescaled = state.rescaled
    with reporting(progress) as report:
        if rescaled is None:
            check_no_labels(y)
            return game.means(rows, index, report)
        if index != "shapley":
            raise InputError(
                f"index={index!r} cannot be computed for model_output={state.model_output!r} by explain_columns, which "
                "rescales the Shapley values of pairs of rows; use index='shapley' or model_output='raw'"
            )
        assert state.kept is not None
        labels = rescaled.checked_labels(y, len(rows))
        pairs = Pairs(rescaled.output, game, state.kept.rows, state.settings.n_threads)
        return pairs.means(rows, labels, state.kept.shares, report)


def _game(state: State, apart: Apart) -> Combinations:
    model = state.reader.model
    from arborshap.explain.combinations import Combinations  # noqa: PLC0415 (few models combine columns)

    encode: Any = model.encode
    assert model.sources is not None
    if state.kept is None:
        why = "has no background" if not state.n_background else "has only the counts of its background, not the rows"
        raise InputError(f"explain_columns needs background rows, but this explainer {why}; give the rows as data")
    return Combinations(
        state.forest,
        encode,
        model.sources,
        apart.read,
        len(apart.names),
        state.kept.rows,
        state.kept.shares,
        state.settings,
    )
