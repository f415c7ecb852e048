"""Settings that every test shares."""

import os
import signal

# The libraries compute on one thread each. Their models are tiny here, so threads would mostly wait for one another,
# and OpenMP waits by spinning: that takes five times the processor time, and far more on a busy machine. Processes that
# tests start inherit this. Our own threads are not affected.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# A shell lets the jobs that it starts in the background ignore Ctrl-C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
