"""Models of every library that the tests run over."""
