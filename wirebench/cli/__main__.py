"""`python -m wirebench.cli`."""

from wirebench.cli import main

main()
