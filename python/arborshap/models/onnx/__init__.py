"""Tree ensembles in ONNX files."""
