"""The steps of scikit-learn pipelines as plain data, replayed with numpy alone and bit for bit as scikit-learn does."""
