"""Helpers of the tests: oracles, cases, and code that several tests share."""
