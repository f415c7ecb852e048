"""Beyond one machine: `arborshap.distributed.dask` and `arborshap.distributed.spark`.

A background is counts, and the counts of its parts add up. An explainer is a few megabytes, and every worker gets it
once. Each row is explained separately. These modules therefore only hand the three to a cluster that already runs.
"""
