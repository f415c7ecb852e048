"""What several adapters need to know of players."""

from collections.abc import Iterable

from arborshap import InputError, TreeExplainer


def check_one_per_column(explainer: TreeExplainer, columns: Iterable[str], tool: str) -> None:
    """Raise `InputError` if a tool that shows one number per column could not show these players.

    Parameters
    ----------
    explainer
        The explainer.
    columns
        The columns that the tool shows.
    tool
        The name of the tool, for the message.
    """
    players = explainer.feature_names
    joint = [name for name in players if name not in {*columns}]
    if joint:
        raise InputError(
            f"{tool} shows one number per column, but {joint[0]!r} is one player of several columns; leave out groups, "
            "or if a step of a pipeline mixes the columns, explain its last step on the rows that the other steps make"
        )
