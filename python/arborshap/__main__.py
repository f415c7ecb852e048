"""``python -m arborshap``: the command line."""

import sys

from arborshap.cli import main

if __name__ == "__main__":
    sys.exit(main())
