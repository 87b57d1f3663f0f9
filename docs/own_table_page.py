"""Write the output of ``superarm run`` on canteen.csv into data.md, and its picture.

Run ``python docs/own_table_page.py`` after a change of a policy that the command plays.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from click.testing import CliRunner

from superarm.cli import app

HERE = Path(__file__).parent
_TABLE = re.compile(r"3 of 10 arms.*?└[^\n]*┘\n", re.DOTALL)


def main() -> None:
    """Run the command, and replace its table and its picture."""
    page = HERE / "data.md"
    with tempfile.TemporaryDirectory() as folder:
        options = ["--k", "3", "--workers", "1", "--out", folder]
        wide = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
        done = CliRunner().invoke(app, ["run", str(HERE / "canteen.csv"), *options], env=wide)
        shutil.copy(Path(folder) / "picture.svg", HERE / "own-table.svg")
    lines = _TABLE.findall(done.output)[0].splitlines()
    table = "".join(f"{line.rstrip()}\n" for line in lines)
    page.write_text(_TABLE.sub(lambda _: table, page.read_text(), count=1))


if __name__ == "__main__":
    main()
