"""One module per kind of cell, each with ``run(cell) -> Recorded``.

These modules and what they import decide the rows; nothing else does (`superarm.studies.code`).
They import no study and nothing that presents results.
"""
