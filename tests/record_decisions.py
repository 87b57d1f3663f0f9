"""Record the decisions of new parts and policies for `test_unchanged`; others stay as they are.

python tests/record_decisions.py
"""

import json

import unchanged
from test_unchanged import EXPECTED, GROUPS, as_recorded


def record():
    """The new cases."""
    cases = ((name, case, run) for name, group in GROUPS.items() for case, run in group())
    added = [(name, case, run) for name, case, run in cases if case not in EXPECTED[name]]
    for name, case, run in added:
        EXPECTED[name][case] = as_recorded(name, case, run)[0]
    unchanged.RECORDED.write_text(json.dumps(EXPECTED, indent=1) + "\n")
    return [f"{name}: {case}" for name, case, _ in added]


if __name__ == "__main__":
    print(*record() or ["nothing is new"], sep="\n")
