"""Malformed requests: raw bodies, and odd values for every member of every body."""

DEEP = 100_000

# Not a JSON object at all.
NOT_OBJECTS = {
    "nothing": b"",
    "blank": b" \n",
    "cut": b'{"arms": [',
    "two": b"{}{}",
    "a list": b"[]",
    "null": b"null",
    "a number": b"3",
    "a text": b'"text"',
    "true": b"true",
    "NaN": b"NaN",
    "single quotes": b"{'n': 1}",
    "a comment": b"{} // yes",
    "a trailing comma": b'{"n": 1,}',
    "NUL": b"\0",
    "NUL after": b"{}\0",
    "not UTF-8": b'{"n": "\xff\xfe"}',
    "overlong": b'{"n": "\xc0\x80"}',
    "UTF-16": '{"n": 1}'.encode("utf-16"),
    "UTF-32": '{"n": 1}'.encode("utf-32"),
    "a surrogate as bytes": b'{"n": "\xed\xa0\x80"}',
    "a raw control": b'{"n": "\x01"}',
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep and cut": b"[" * DEEP,
    "deep in a member": b'{"n":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.",
    "a form": b"n=1&arms=a",
    "XML": b"<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]><x>&y;</x>",
}

# Values as JSON text. No member of any body takes them.
NEVER = {
    "huge whole": "1" + "0" * 400,
    "huge whole, negative": "-1" + "0" * 400,
    "more digits than Python reads": "9" * 5000,
    "too large to be a float": "1e999",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "-Infinity": "-Infinity",
    "a lone surrogate": '"\\ud800"',
    "a lone surrogate in a list": '["\\udfff"]',
    "a lone surrogate as a name": '{"\\ud800": 1}',
    "deep": "[" * 2000 + "]" * 2000,
    "deep objects": '{"kind":' * 2000 + "1" + "}" * 2000,
    "code": '{"kind": "os.system", "command": "true"}',
    "a dunder": '{"kind": "__class__"}',
    "a module": '{"name": "superarm.rewards.linear:LinearReward"}',
}

# Values as JSON text. Some members take them.
SOMETIMES = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "minus one": "-1",
    "a half": "0.5",
    "minus zero": "-0.0",
    "tiny": "5e-324",
    "large": "1e308",
    "2**53 + 1": str(2**53 + 1),
    "2**63": str(2**63),
    "2**64": str(2**64),
    "no text": '""',
    "long text": '"' + "x" * 100_000 + '"',
    "NUL in text": '"a\\u0000b"',
    "right to left": '"\\u202eabc"',
    "combining": '"' + "e" + "\\u0301" * 500 + '"',
    "emoji": '"\\ud83d\\ude00"',
    "not a character": '"\\uffff"',
    "blank": '" \\t\\n"',
    "dots": '".."',
    "a path": '"../../etc/passwd"',
    "SQL": '"\'; DROP TABLE events; --"',
    "format": '"%s{0}${x}"',
    "no list": "[]",
    "null in a list": "[null]",
    "lists in a list": "[[], [[]]]",
    "twice": '["a", "a"]',
    "mixed": '["a", 1, null, {}]',
    "no object": "{}",
    "no name": '{"": 1}',
    "null in an object": '{"a": null}',
    "text in an object": '{"a": "1"}',
    "many": "[" + ",".join(f'"{i}"' for i in range(3000)) + "]",
}

_NEW = {"name": '"fuzz"', "arms": "4", "k": "2"}
# The members of a good body, by endpoint, as JSON text.
BODIES = {
    "create": {
        "name": '"fuzz"', "arms": '["a", "b", "c", "d"]', "k": "2", "belief": '"beta"',
        "oracle": '"top_k"', "reward": '"linear"', "prior": "[1, 1]", "expiry": '{"after_s": 10}',
        "seed": "1", "keep": "10", "explain_last": "1", "holdout": "0.1",
    },
    "create, belief": {**_NEW, "belief": '{"kind": "sliding", "window": %s}'},
    "create, oracle": {**_NEW, "oracle": '{"kind": "lazy_singletons", "budget": %s}'},
    "create, group testing": {**_NEW, "oracle": '{"kind": "group_testing", "delta": %s}'},
    "create, rarely": {**_NEW, "oracle": '{"kind": "rarely", "oracle": %s}'},
    "create, reward": {**_NEW, "reward": '{"name": "linear", "weights": %s}'},
    "create, network": {
        "name": '"fuzz"', "arms": "2", "k": "1",
        "reward": '{"name": "network", "W1": %s, "w2": [1]}',
    },
    "create, holdout": {**_NEW, "holdout": '{"share": 0.1, "arms": %s}'},
    "create, expiry": {**_NEW, "expiry": '{"after_s": %s}'},
    "create, missing": {**_NEW, "expiry": '{"after_s": 9, "missing": %s}'},
    "decide": {
        "n": "2", "k": "2", "available": '["a", "b", "c"]', "must": '["a"]', "must_not": '["d"]',
        "groups": '[{"arms": ["a", "b"], "least": 0, "most": 2}]', "weights": '{"a": 1.0}',
        "capacity": "9.0", "propensities": "5",
    },
    "decide, group arms": {"groups": '[{"arms": %s, "most": 1}]'},
    "decide, group least": {"groups": '[{"arms": ["a"], "least": %s}]'},
    "decide, group most": {"groups": '[{"arms": ["a"], "most": %s}]'},
    "decide, weight": {"weights": '{"a": %s}', "capacity": "3"},
    "tell": {"outcomes": '{"a": 1.0}'},
    "tell, one": {"outcomes": '{"%%ARM%%": %s}'},
    "add arms": {"arms": '["x", "y"]', "prior": "[1, 1]"},
    "add arms, prior": {"arms": '["x", "y"]', "prior": "[1, %s]"},
}  # fmt: skip


def body(members):
    """A body from members as JSON text."""
    return ("{" + ", ".join(f'"{name}": {text}' for name, text in members.items()) + "}").encode()


def mutants(endpoint):
    """Bodies with one value replaced: a name, whether the body must be refused, and the body."""
    members = BODIES[endpoint]
    holes = [name for name, text in members.items() if "%s" in text]
    for values, never in ((NEVER, True), (SOMETIMES, False)):
        for what, text in values.items():
            for name in holes or members:
                value = members[name] % text if holes else text
                yield f"{name}: {what}", never, body({**members, name: value})
    if not holes:
        yield "a member of nobody", True, body({**members, "nobody": "1"})
