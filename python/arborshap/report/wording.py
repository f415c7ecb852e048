"""Sentences about the unit of the numbers on the page; each is true of the unit that the model's link gives."""

from __future__ import annotations

from arborshap.result.value_unit import ValueUnit

_STEP = "adding 1 multiplies"

_SENTENCES = {
    "log-odds": f"All numbers are log-odds: 0 is a probability of one half, and {_STEP} the odds by 2.72. "
    "Probabilities are in brackets.",
    "probability": "All numbers are probabilities, and the values of features are parts of a probability.",
    "prediction": "All numbers are in the unit of what the model predicts.",
    "log of the prediction": f"All numbers are logarithms of the prediction: {_STEP} the prediction by 2.72. "
    "Predictions are in brackets.",
    "log loss": "All numbers are log losses: the lower, the better the model predicts the row.",
    "squared error": "All numbers are squared errors: the lower, the better the model predicts the row.",
    "model output": "The unit of these numbers is not known.",
}
_RAW = "All numbers are raw predictions: sums of the trees' leaves, before the model turns them into "


def unit_sentence(unit: ValueUnit) -> str:
    """Say what the numbers of the page are."""
    if unit.name != "raw prediction":
        return _SENTENCES.get(unit.name, f"All numbers are in the unit of the {unit.name}.")
    if unit.becomes is None:
        return f"{_RAW}what it returns."
    return f"{_RAW}a {unit.becomes}, which is in brackets."


def values_in(unit: ValueUnit) -> str:
    """Say in a few words in which unit the values are, for every section."""
    return "Values are in log-odds." if unit.name == "log-odds" else f"Values are in the unit of the {unit.name}."


def trace_in(unit: ValueUnit, raw: ValueUnit) -> str:
    """Say in which unit a tree adds up its leaves, which is not always the unit of the page."""
    what = raw.name if raw.name == "log-odds" else f"in the unit of the {raw.name}"
    if unit == raw:
        return f"Its numbers are {what}."
    return f"Its numbers are {what}: each tree adds to the {raw.name}, and only the sum of all becomes the {unit.name}."


def contrast_says(unit: ValueUnit, raw: ValueUnit) -> str:
    """Say what the values of a pair of rows are; those of a function of the raw prediction are scaled."""
    if unit == raw:
        return "the exact Shapley values of this pair."
    return f"the Shapley values of the pair's {raw.name}, scaled to add up to the difference in {unit.name}."
