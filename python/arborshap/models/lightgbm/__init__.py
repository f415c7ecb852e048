"""Models of LightGBM, live and from files."""
