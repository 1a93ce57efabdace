"""What is built for others: the wheel holds the package and nothing else, the source archive all it is made from."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGE = ROOT / "src/onepath"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    place = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", place], cwd=ROOT, check=True, capture_output=True)
    (wheel,), (source,) = place.glob("*.whl"), place.glob("*.tar.gz")
    return wheel, source


def test_the_wheel_holds_the_package_its_licence_and_nothing_else(built):
    with zipfile.ZipFile(built[0]) as archive:
        names = set(archive.namelist())
    info = f"onepath-{PROJECT['version']}.dist-info"
    inside = {name for name in names if name.startswith("onepath/")}
    wanted = {f"onepath/{path.relative_to(PACKAGE).as_posix()}" for path in PACKAGE.rglob("*") if path.is_file()}
    assert inside == {name for name in wanted if "__pycache__" not in name}
    assert names - inside == {f"{info}/{part}" for part in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")} | {
        f"{info}/licenses/{name}" for name in PROJECT["license-files"]
    }


def test_what_it_says_of_itself_is_what_the_project_says(built):
    with zipfile.ZipFile(built[0]) as archive:
        said = archive.read(f"onepath-{PROJECT['version']}.dist-info/METADATA").decode()
    assert f"\nVersion: {PROJECT['version']}\n" in said
    assert "\nLicense-Expression: MIT\n" in said
    assert set(re.findall(r"^Provides-Extra: (.+)$", said, re.MULTILINE)) == set(PROJECT["optional-dependencies"])


def test_the_source_archive_has_all_that_tests_and_book_need(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ("pyproject.toml", "Makefile", "LICENSE", "CITATION.cff", "tests/conftest.py", "docs/conf.py")
    assert set(wanted) <= names
    assert not [name for name in names if name.startswith((".venv", "out/", "dist/", "docs/tutorials"))]


def test_the_command_runs_from_the_wheel_alone(built, tmp_path):
    with zipfile.ZipFile(built[0]) as archive:
        archive.extractall(tmp_path)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.argv = ['onepath', '--version']\n"
        "import onepath.cli, importlib.resources as r; print(onepath.__file__)\n"
        "print(len((r.files('onepath') / 'examples' / 'treasury_bill.csv').read_text().splitlines()))\n"
        "onepath.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    place, lines, version = done.stdout.splitlines()
    assert place.startswith(str(tmp_path))
    assert int(lines) > 500
    assert version == f"onepath {PROJECT['version']}"


def test_the_changelog_has_a_place_for_this_version():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    version = PROJECT["version"]
    assert headings[0] == "Unreleased" if ".dev" in version else headings[0].startswith(version)


def test_what_is_installed_beside_it_is_named_with_the_licences():
    page = (ROOT / "docs/licences.md").read_text().lower()
    needed = [re.split(r"[<>=\[ ]", requirement)[0] for requirement in PROJECT["dependencies"]]
    assert [name for name in needed if name.lower() not in page] == []
