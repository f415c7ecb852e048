"""Helpers of the tests: oracles, cases, and what several tests share."""
