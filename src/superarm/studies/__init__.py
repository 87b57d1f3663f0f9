"""Studies: settings become cells, cells become rows, rows become findings, pictures and a page.

| study | command |
| --- | --- |
| `superarm.studies.paper` | ``superarm reproduce`` |
| `superarm.studies.comparison` | ``superarm compare`` |
| `superarm.studies.own_table` | ``superarm run`` |
| `superarm.studies.demo` | ``superarm demo`` |

All of them describe their runs as cells (`cell`), run them with one runner (`run`), keep what was
recorded in one store (`store`), and analyse nothing but recorded rows (`study`).
"""

from superarm.reporting import RequestError
from superarm.studies.cell import Cell, Recorded, Scale
from superarm.studies.run import run_cell
from superarm.studies.store import Store
from superarm.studies.study import Done, Findings, Study

__all__ = [
    "Cell",
    "Done",
    "Findings",
    "Recorded",
    "RequestError",
    "Scale",
    "Store",
    "Study",
    "run_cell",
]
