"""`python -m deltaspec`."""

from deltaspec.cli import main

main()
