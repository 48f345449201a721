"""The house rules, read from the sources: floors, slices, purity, banned words, orphans, and documents that must not lie."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "atoll"
FLOORS = (
    {"domain"}, {"rules", "aws_protocols"}, {"object_store", "control_store", "net"}, {"services"}, {"gateway"}, {"processes"}, {"lab"}, {"cli", "testing"},
)  # fmt: skip
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
PURE_ROOMS = {"domain", "rules", "aws_protocols"}
IMPURE = {"asyncio", "socket", "ssl", "time", "random", "os", "sqlite3", "threading", "subprocess", "secrets"}
IMPURE_CALLS = {"now", "utcnow", "today", "uuid4", "uuid1", "open"}
BANNED_WORDS = re.compile(r"(^|_)(manager|helper|helpers|util|utils|misc|stuff|handler2)(_|$)", re.IGNORECASE)
LONG_FUNCTION, LONG_FILE = 60, 400  # notes, not failures (STYLE: a compass, not a fence)


def sources():
    return sorted(path for path in SRC.rglob("*.py"))


def room_of(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def slice_of(path):
    parts = path.relative_to(SRC).parts
    return parts[1] if parts[0] == "services" and len(parts) > 2 else None


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def complaints_about_imports(path, tree):
    room = room_of(path)
    for line, name in imported(tree):
        bits = name.split(".")
        if room in PURE_ROOMS and bits[0] in IMPURE:
            yield f"{path}:{line} {room} decides, it may not import {bits[0]}: take the value as an argument"
        if bits[0] == "botocore" and room not in {"aws_protocols", "lab"}:
            yield f"{path}:{line} only wire knows botocore"
        if bits[0] != "atoll" or len(bits) < 2 or bits[1] not in LEVEL or room not in LEVEL:
            continue
        if LEVEL[bits[1]] > LEVEL[room] or (LEVEL[bits[1]] == LEVEL[room] and bits[1] != room):
            yield f"{path}:{line} {room} (floor {LEVEL[room]}) may not import {bits[1]} (floor {LEVEL[bits[1]]})"
        if slice_of(path) and bits[1] == "services" and len(bits) > 2 and bits[2] != slice_of(path):
            yield f"{path}:{line} slice {slice_of(path)} may not import slice {bits[2]}"


def complaints_about_purity(path, tree):
    if room_of(path) not in PURE_ROOMS:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        owner = node.func.value.id if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) else ""
        if (name == "open" and not owner) or (name in IMPURE_CALLS - {"open"} and owner in {"datetime", "date", "uuid"}):
            yield f"{path}:{node.lineno} {name}() in a room that decides: take the value as an argument"


def complaints_about_names(path, tree):
    if BANNED_WORDS.search(path.stem):
        yield f"{path} is named after nothing"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and BANNED_WORDS.search(node.name):
            yield f"{path}:{node.lineno} {node.name}: say what it is"


def test_imports_go_down_and_slices_know_nothing_of_each_other():
    found = [text for path in sources() for text in complaints_about_imports(path, ast.parse(path.read_text()))]
    assert found == []


def test_rooms_that_decide_read_no_clock_no_dice_and_no_file():
    found = [text for path in sources() for text in complaints_about_purity(path, ast.parse(path.read_text()))]
    assert found == []


def test_names_say_what_things_are():
    found = [text for path in sources() for text in complaints_about_names(path, ast.parse(path.read_text()))]
    assert found == []


def test_the_first_line_of_every_module_says_what_question_it_answers():
    silent = [str(path) for path in sources() if path.name != "__init__.py" and not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_every_module_is_imported_by_another_or_is_an_entry():
    texts = {path: path.read_text() for path in [*sources(), *(ROOT / "tests").rglob("*.py"), ROOT / "pyproject.toml"]}
    orphans = []
    for path in sources():
        module = ".".join(("atoll", *path.relative_to(SRC).with_suffix("").parts))
        parent, _, name = module.rpartition(".")
        wanted = re.compile(rf"(from {re.escape(module)} import|import {re.escape(module)}\b|from {re.escape(parent)} import [^\n]*\b{name}\b|{re.escape(module)}:|[\"']{re.escape(module)}[\"'])")
        multi = re.compile(rf"from {re.escape(parent)} import \([^)]*\b{name}\b", re.DOTALL)
        others = [text for other, text in texts.items() if other != path and (SRC in other.parents or other.suffix == ".toml")]
        if path.name not in {"__init__.py", "__main__.py", "testing.py"} and not any(wanted.search(text) or multi.search(text) for text in others):
            orphans.append(str(path.relative_to(ROOT)))
    assert orphans == []


def test_nothing_is_left_for_later_in_the_sources():
    marks = re.compile(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError")
    found = [f"{path}:{number}" for path in sources() for number, line in enumerate(path.read_text().splitlines(), 1) if marks.search(line)]
    assert found == []


def test_no_file_of_the_repository_names_a_registry_or_a_path_of_one_machine():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    texts = [(name, (ROOT / name).read_text(errors="replace")) for name in listed if name and (ROOT / name).is_file() and name != "tests/test_house.py"]
    hosts = re.compile(r"files\.pythonhosted\.org|pypi\.org/simple|registry\.npmjs\.org|deb\.debian\.org")
    assert [name for name, text in texts if hosts.search(text)] == []


def test_coverage_document_says_what_the_signatures_say():
    written = (ROOT / "docs" / "COVERAGE.md").read_text()
    made = subprocess.run([sys.executable, "-m", "atoll.processes.coverage"], capture_output=True, text=True, check=True).stdout
    assert written == made, "run `make coverage`"


def test_every_promise_of_the_semantics_document_names_a_test_that_exists():
    text = (ROOT / "docs" / "SEMANTICS.md").read_text()
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text))
    assert len(named) > 20
    missing = [f"{path}::{name}" for path, name in sorted(named) if not (ROOT / path).exists() or f"def {name}(" not in (ROOT / path).read_text()]
    assert missing == []


@pytest.mark.parametrize("word", ["Store", "place", "entry", "stamp", "world", "worker", "envelope", "link"])
def test_the_glossary_explains_the_words_that_the_code_uses(word):
    assert re.search(rf"^\*\*{word}\*\*", (ROOT / "docs" / "GLOSSARY.md").read_text(), re.MULTILINE | re.IGNORECASE)


def notes():
    """Places that may have become two subjects: `python tests/test_house.py` prints them."""
    for path in sources():
        text = path.read_text()
        if len(text.splitlines()) > LONG_FILE:
            yield f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno - node.lineno + 1 > LONG_FUNCTION:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"


if __name__ == "__main__":
    print(*notes(), sep="\n")
