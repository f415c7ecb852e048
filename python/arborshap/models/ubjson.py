"""UBJSON as XGBoost writes it. The native reader checks every length against the remaining bytes before it is used."""

from arborshap._core import parse_ubjson

__all__ = ["parse_ubjson"]
