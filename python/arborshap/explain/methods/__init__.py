"""Methods of `TreeExplainer` by what they answer, each set in a file of its own; the explainer inherits them."""
