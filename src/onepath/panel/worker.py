"""A process that fits series for another one: batches come in on its standard input, records go out on its output."""

import os
import pickle
import signal
import sys
from typing import IO, Any

from onepath.numerics.threads import begin_with_one_thread

HEAD = 8
"""Bytes that say how long a message is."""


def send(stream: IO[bytes], message: Any) -> None:
    """One message, whole."""
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(len(content).to_bytes(HEAD))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message; EOFError where whoever sent them is gone."""
    head = stream.read(HEAD)
    if len(head) < HEAD:
        raise EOFError
    content = stream.read(size := int.from_bytes(head))
    if len(content) < size:
        raise EOFError
    return pickle.loads(content)


def main() -> None:
    """Fit batch after batch, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that asks ends this one
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not come between records
    try:
        begin_with_one_thread()
        from onepath.panel.one import fit_all

        plan = receive(asked)
    except Exception as error:  # said to the one that asks
        send(answers, f"{type(error).__name__}: {error}")
        return
    send(answers, None)
    while True:
        try:
            batch = receive(asked)
        except EOFError:
            return
        send(answers, fit_all(plan, batch))


if __name__ == "__main__":
    main()
