"""Models of scikit-learn: one file per family of estimators."""
