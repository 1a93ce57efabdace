"""A studio in a process of its own for tests, and a client that says to it what a page would."""

import contextlib
import http.client
import json
import re
import subprocess
import sys
import time
from urllib.parse import urlsplit


class Client:
    """Requests to a studio that runs."""

    def __init__(self, *options, file=None):
        command = [sys.executable, "-m", "onepath", "studio", "--no-browser", *options, *([str(file)] if file else [])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = re.search(r"http://\S+/", self.process.stdout.readline())[0]
        self.host, self.path = urlsplit(self.address).netloc, urlsplit(self.address).path

    def ask(self, path, method="GET", body=None, headers=None, whole=None):
        """Status, headers and body; `whole` is a path that is sent as it is."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, whole if whole is not None else self.path + path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def get(self, path):
        status, _, body = self.ask(path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def post(self, path, given=None):
        status, _, body = self.ask(path, "POST", json.dumps(given or {}), {"Content-Type": "application/json"})
        return status, json.loads(body)

    def upload(self, name, content):
        status, _, body = self.ask(f"files?name={name}", "POST", content)
        return status, json.loads(body)

    def fit(self, file, **asked):
        status, told = self.post("fits", {"file": file, "asked": asked})
        assert status == 200, told
        return told["id"]

    def state(self, fit):
        return next(each for each in self.get("state")["fits"] if each["id"] == fit)

    def until(self, fit, seen, patience=120.0):
        """Wait until `seen` of the fit's state, and give that."""
        ends = time.monotonic() + patience
        while time.monotonic() < ends:
            found = self.state(fit)
            if seen(found):
                return found
            time.sleep(0.05)
        raise AssertionError(f"waited in vain: {found}")

    def ended(self, fit):
        return self.until(fit, lambda each: each["state"] not in ("waiting", "running"))

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=20)
