"""Reading rows: arrays, lists, sparse matrices and frames become one float matrix."""
