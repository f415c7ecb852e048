"""Hand over the trees of a model one by one, as you would for a library that arborshap does not read.

The example averages two models. arborshap reads a `VotingRegressor` by itself, so you can compare; a model of your own
needs the same steps: the arrays of the trees, the library's rule for going left, and one check that the forest predicts
what the library predicts.

    python examples/hand_fed_forest.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor, VotingRegressor

from arborshap import Forest, ForestBuilder, TreeExplainer


def forest_of(voting: Any, feature_names: list[str]) -> Forest:
    """Turn a weighted mean of a random forest and of boosted trees into one forest."""
    # scikit-learn rounds a row to float32 and goes left where it is less than or equal to the threshold.
    builder = ForestBuilder(n_features=len(feature_names), rule="<=", precision="float32")
    bagged, boosted = voting.estimators_
    of_bagged, of_boosted = np.array(voting.weights) / sum(voting.weights)
    shares = [(member, of_bagged / len(bagged.estimators_)) for member in bagged.estimators_]
    shares += [(member, of_boosted * boosted.learning_rate) for member in boosted.estimators_[:, 0]]
    for member, share in shares:
        tree = member.tree_
        builder.add_tree(
            left=tree.children_left,  # -1 in a leaf, for both children
            right=tree.children_right,
            feature=tree.feature,  # what stands here in leaves is not looked at
            threshold=tree.threshold,
            value=share * tree.value[:, 0, 0],
            default_left=tree.missing_go_to_left.astype(bool),
            cover=tree.weighted_n_node_samples,  # only needed to explain without a background
        )
    start = of_boosted * boosted.init_.constant_[0, 0]  # where boosting starts from
    return builder.build(base=start, feature_names=feature_names)


def main() -> None:
    """Train, hand the trees over, check, and explain."""
    X, y = load_diabetes(as_frame=True, return_X_y=True)
    members = [
        ("bagged", RandomForestRegressor(n_estimators=40, max_depth=6, random_state=0)),
        ("boosted", GradientBoostingRegressor(n_estimators=60, random_state=0)),
    ]
    model = VotingRegressor(members, weights=[1, 2]).fit(X, y)

    forest = forest_of(model, list(X.columns))
    predicted = model.predict(X)
    print(forest)
    print(
        "largest difference from the library's own prediction:",
        f"{np.abs(forest.margin(X)[:, 0] - predicted).max():.0e}",
    )

    explanation = TreeExplainer(forest, X)(X)
    total = explanation.values.sum(axis=1) + explanation.base_values
    print("the values of every row sum to its prediction:", np.allclose(total, predicted))
    size = np.abs(explanation.values).mean(axis=0)
    for player in np.argsort(-size)[:3]:
        print(f"  {explanation.feature_names[player]:<5} {size[player]:.1f}")


if __name__ == "__main__":
    main()
