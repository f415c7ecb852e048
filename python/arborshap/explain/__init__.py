"""`TreeExplainer` and `Background`, and the parts that they are made of."""
