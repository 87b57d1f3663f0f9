"""Run a command of superarm inside the test process."""

from click.testing import CliRunner, Result

from superarm.cli import app

# A wide terminal without colours: tables and messages are not broken into lines.
PLAIN = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}


def run(*arguments: object) -> Result:
    """What ``superarm ARGUMENTS`` prints, and its exit code."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=PLAIN)
