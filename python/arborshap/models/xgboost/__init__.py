"""Models of XGBoost, live and from files."""
