"""`python -m sgaudit`."""

from sgaudit.cli import main

if __name__ == "__main__":
    main()
