"""`python -m deltaspec`."""

from deltaspec.cli import main

if __name__ == "__main__":  # worker processes import this module
    main()
