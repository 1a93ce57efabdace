"""The process that reads and fits: tasks come in and answers go out, a line of JSON each; it ends with its server.

Nothing but these lines is written to the standard output it was given; what libraries print goes to the errors.
"""

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from onepath.studio.said import read_said

READER, FITTER = "reader", "fitter"
"""Kinds of processes: one opens tables and knows no engine, the other fits."""

PRELOADED = {
    READER: ("pandas", "onepath.io.columns", "onepath.io.tables", "onepath.data.trajectory", "onepath.studio.look"),
    FITTER: ("onepath.studio.learn",),
}

Answer = Callable[..., None]


def look(task: dict[str, Any], answer: Answer) -> None:
    """What is understood of a file."""
    from onepath.studio.look import look as look_at

    if task.get("example"):
        from onepath.studio.examples import write_example

        write_example(task["example"], Path(task["source"]))
    answer(looked=look_at(Path(task["source"]), task["name"], read_said(task["said"])))


def fit(task: dict[str, Any], answer: Answer) -> None:
    """Everything from a file to what the page shows."""
    from onepath.studio.learn import Job, learn

    said, example = read_said(task["said"]), task["example"]
    source, folder = Path(task["source"]), Path(task["folder"])
    job = Job(source, task["name"], folder, said, task["asked"], task["command"], example)
    learn(job, lambda text: answer(said=text), lambda part: answer(made=part))


def ahead(task: dict[str, Any], _: Answer) -> None:
    """A forecast over so many steps."""
    from onepath.studio.learn import ahead as forecast_ahead

    forecast_ahead(Path(task["folder"]), task["steps"])


TASKS: dict[str, Callable[[dict[str, Any], Answer], None]] = {"look": look, "fit": fit, "ahead": ahead}


def done(task: dict[str, Any], answer: Answer) -> None:
    """Do one task, and say how it ended; what is wrong with data is no fault of the process."""
    try:
        TASKS[task["task"]](task, answer)
    except MemoryError:
        answer(refused="there is not enough memory for this: keep every tenth row, or only the columns that are needed")
    except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
        answer(refused=str(error).replace(str(task.get("source", "\0")), str(task.get("name", ""))))
    except Exception as error:
        answer(failed=f"{type(error).__name__}: {error}")
    else:
        answer(done=True)


def _listen(lines: TextIO, tasks: SimpleQueue[dict[str, Any]], folder: Path) -> None:
    """Queue tasks; when the server is gone without having said so, remove what it leaves, and end at once."""
    for line in lines:
        tasks.put(json.loads(line))
    with suppress(OSError):
        shutil.rmtree(folder)
    os._exit(0)


def main() -> None:
    """Serve until the server ends: its kind and the studio's folder are the arguments."""
    kind, folder = sys.argv[1], Path(sys.argv[2])
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def answer(**said: Any) -> None:
        lines.write(json.dumps(said) + "\n")
        lines.flush()

    tasks: SimpleQueue[dict[str, Any]] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, tasks, folder), daemon=True).start()
    for name in PRELOADED[kind]:
        import_module(name)
    answer(ready=True)
    if kind == FITTER:
        import_module("onepath.studio.learn").warm()
    while True:
        done(tasks.get(), answer)


if __name__ == "__main__":
    main()
