"""``python -m superarm`` is ``superarm``."""

from superarm.cli import app

if __name__ == "__main__":
    app()
