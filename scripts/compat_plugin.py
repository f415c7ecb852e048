"""A pytest plugin that puts arborshap's adapter in the place of `shap.TreeExplainer`."""

import shap

from arborshap.adapters.shap import TreeExplainer

for module in (shap, shap.explainers):
    for name in ("TreeExplainer", "Tree"):
        if hasattr(module, name):
            setattr(module, name, TreeExplainer)
