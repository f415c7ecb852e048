"""Explainers in the shape that other tools expect; each module imports its tool, which is an optional extra.

Adapters use the public names of `arborshap` only.
"""
