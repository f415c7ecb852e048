"""Models of CatBoost, live and from files."""
