"""How long the studio takes: to start, to paint, and from a file that is dropped to its curves, beside the command.

    python benchmarks/studio.py [repeats]

Both fit the same thousand rows in turn, so that whatever else the machine does slows both down; compiled programs are
there. The command's time is that of its whole process, as a user waits for it.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from onepath.compare.processes import PROCESSES

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from serving import Client

ROWS = 1000
KEPT = Path(__file__).with_name("results") / "studio.json"


def since(begun):
    return time.perf_counter() - begun


def dropped(client, content):
    """Seconds from a file that is dropped to its curves, to its verdict, and to everything."""
    begun, seen = time.perf_counter(), {}
    file = client.upload("rows.csv", content)[1]["id"]
    fit = client.fit(file)
    while True:
        state = client.state(fit)
        for part in state["made"]:
            seen.setdefault(part, since(begun))
        if state["state"] not in ("waiting", "running"):
            return seen["curves"], seen["verdict"], since(begun)
        time.sleep(0.02)


def painted(address):
    """Seconds until the page first shows something; None without a browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        return None
    if (found := shutil.which("chromium") or shutil.which("google-chrome")) is None:
        return None
    with sync_playwright() as started:
        window = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = window.new_page()
        page.goto(address)
        page.wait_for_selector("#examples button")
        first = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        window.close()
    return first / 1000


def main(repeats):
    process = PROCESSES["double_well_multiplicative"]
    path = process.simulate(ROWS, random_state=3)[0]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.csv"
        table = np.column_stack([process.dt * np.arange(len(path)), path])
        np.savetxt(data, table, "%.10g", ",", header="t,x", comments="")
        os.environ["ONEPATH_CACHE"] = str(Path(folder) / "cache")  # which nothing else fills meanwhile
        command = [sys.executable, "-m", "onepath", "fit", str(data)]
        subprocess.run(command, capture_output=True, check=True)
        begun = time.perf_counter()
        client = Client("--fits", "1")
        listening = since(begun)
        dropped(client, data.read_bytes())
        paint = painted(client.address)
        rows = []
        for _ in range(repeats):
            begun = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True, start_new_session=True)  # as fits are
            rows.append((since(begun), *dropped(client, data.read_bytes())))
        client.close()
    names = ("command", "curves", "verdict", "everything")
    found = {name: statistics.median(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    found |= {"ratio": statistics.median(row[1] / row[0] for row in rows), "repeats": repeats}
    found |= {"listening": listening, "first_paint": paint}
    KEPT.write_text(json.dumps(found, indent=1) + "\n")
    for name, value in found.items():
        print(f"{name:12} {value if value is None else round(value, 3)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
