"""`TreeExplainer` and `Background`, and what they consist of."""
