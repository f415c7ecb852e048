"""Estimators around other models. Each reads its members through the registry, so wrappers may hold wrappers."""
