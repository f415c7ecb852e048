"""Plots: one file per plot, and one for the style that all of them share."""
