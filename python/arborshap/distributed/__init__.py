"""Beyond one machine: `arborshap.distributed.dask` and `arborshap.distributed.spark`.

A background is counts, and counts of parts add up; an explainer is a few megabytes, which every worker gets once; rows
are explained each by itself. So all that is done here is to hand these three to an engine that runs already.
"""
