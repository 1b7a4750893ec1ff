"""`python -m fredholm`: the same as the command `fredholm`."""

import sys

from fredholm.cli import main

sys.exit(main())
