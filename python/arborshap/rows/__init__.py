"""Every way in for rows: arrays, lists, sparse matrices and frames become one float matrix."""
