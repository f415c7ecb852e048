"""Tests of work that is shared out over processes and machines."""
