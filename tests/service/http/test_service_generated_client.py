"""A client in TypeScript: generated from the description of a server, checked, and used with it.

The generator is one of the packages of tools/page.
"""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from commands import run
from doc_pages import blocks, commands, doc
from forked_server import ForkedServer

TOOLS = Path(__file__).parents[3] / "tools" / "page" / "node_modules" / ".bin"
DRIVER = Path(__file__).with_name("generated_client.ts")
PAGE, ADDRESS = doc("client.md"), "http://127.0.0.1:8321"
OPTIONS = {
    "target": "es2022",
    "lib": ["es2022", "dom", "dom.iterable"],
    "module": "nodenext",
    "strict": True,
    "noUnusedLocals": True,
    "skipLibCheck": True,
    "types": [],
}

pytestmark = pytest.mark.skipif(
    not (TOOLS / "openapi-ts").exists(), reason="make page installs the generator of clients"
)


def test_a_generated_client_drives_a_server(tmp_path):
    """The example of the documentation, and a program that uses most operations."""
    database = str(tmp_path / "bandits.db")
    key = run("keys", "add", "--role", "admin", "--database", database).output.strip()
    server = ForkedServer(database, tmp_path / "server.log", "--quiet", "--keys")
    (example,) = blocks(PAGE, "typescript")
    (generate,) = (words[1:] for words in commands(PAGE) if words[0] == "npx")
    (tmp_path / "example.ts").write_text(example.replace(ADDRESS, server.url).replace("KEY", key))
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS}))
    shutil.copy(DRIVER, tmp_path)

    def call(tool, *arguments):
        command = [str(tool), *(word.replace(ADDRESS, server.url) for word in arguments)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{shlex.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    with server:
        assert generate[0] == "@hey-api/openapi-ts"
        call(TOOLS / "openapi-ts", *generate[1:])
        call(TOOLS / "tsc", "--project", ".")
        assert call("node", "example.js") == "urn:superarm:outcome-differs\n"
        call("node", "generated_client.js", server.url, key)
