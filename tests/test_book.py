"""The book before it is built: every name is in it, every parameter explained, links lead somewhere, examples run."""

import ast
import doctest
import inspect
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

import onepath

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
CALLED = {
    "SDE": [onepath.SDE, *(each for name, each in inspect.getmembers(onepath.SDE, callable) if name[0] != "_")],
    "Paths": [each for name, each in inspect.getmembers(onepath.Paths, callable) if name[0] != "_"],
    "others": [onepath.Known, onepath.load],
}
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def explained(text):
    """Names in the section of parameters of a docstring."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", inspect.cleandoc(text), re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^(\S.*?) : ", found[1], re.MULTILINE) if found else []
    return [name.strip(" *") for head in heads for name in head.split(",")]


@pytest.mark.parametrize("called", [each for group in CALLED.values() for each in group], ids=lambda one: one.__name__)
def test_every_parameter_is_explained_where_it_is_and_what_comes_back_too(called):
    parameters = [name for name in inspect.signature(called).parameters if name != "self"]
    assert called.__doc__.partition("\n")[0].endswith(".")
    assert explained(called.__doc__) == parameters
    assert isinstance(called, type) or "Returns\n" in called.__doc__


def test_every_learned_attribute_is_explained():
    told = inspect.cleandoc(onepath.SDE.__doc__).partition("Attributes\n")[2]
    heads = re.findall(r"^(\S.*?) : ", told, re.MULTILINE)
    names = {name.strip() for head in heads for name in head.split(",")}
    learned = {name for name in onepath.SDE.__annotations__ if name.endswith("_")}
    asked = {name for name, each in vars(onepath.SDE).items() if isinstance(each, property) and name.endswith("_")}
    assert learned | asked <= names | {"units_", "posterior_"}
    assert names <= learned | asked


def test_every_public_name_has_its_place_in_the_reference():
    told = "\n".join(path.read_text() for path in (ROOT / "docs/reference").glob("*.rst"))
    entries = set(re.findall(r"auto(?:class|function|method|property):: ([\w.]+)", told))
    assert set(onepath.__all__) - {"__version__"} <= entries
    methods = {f"SDE.{each.__name__}" for each in CALLED["SDE"][1:]}
    assert methods == {entry for entry in entries if entry.startswith("SDE.")} - {"SDE.measurement_", "SDE.state_"}


def test_every_page_has_its_place_in_the_table_of_contents():
    placed = []
    for path in (ROOT / "docs").glob("*.md"):
        for block in re.findall(r"```{toctree}\n(.*?)```", path.read_text(), re.DOTALL):
            placed += [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
    lost = [
        page.name
        for page in (ROOT / "docs").glob("*.md")
        if page.stem != "index" and not any(fnmatch(page.stem, pattern) for pattern in placed)
    ]
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pages_that_are_named_are_there(page):
    text = page.read_text()
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]+)", text) + re.findall(r"`(docs/[\w.-]+)`", text):
        base = ROOT if target.startswith("docs/") else page.parent
        assert (base / target).exists(), f"{page.name} names {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_of_python_on_pages_are_python(page):
    for block in PYTHON.findall(page.read_text()):
        ast.parse(block)


@pytest.mark.parametrize("name", ["SDE", "Known", "load", "Paths.frame"])
def test_examples_in_docstrings_say_what_comes_out(name):
    documented = onepath
    for part in name.split("."):
        documented = getattr(documented, part)
    found = doctest.DocTestFinder(recurse=False).find(documented, name, globs={})
    tests = [test for test in found if test.examples]
    assert tests, f"{name} has no example"
    for test in tests:
        assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


def test_tutorials_are_scripts_that_begin_with_a_title_and_bring_their_data():
    scripts = sorted((ROOT / "docs/gallery").glob("*.py"))
    assert len(scripts) >= 5
    for script in scripts:
        said = ast.get_docstring(ast.parse(script.read_text()))
        assert re.match(r".+\n=+\n", said), script.name
        assert not re.search(r"https?://|urlopen|requests", script.read_text()), script.name
