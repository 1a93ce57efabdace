"""A page to drop a file on: a server for this machine's browser, and processes that read and fit for it.

`serve` starts it; a browser is all that else is needed. Modules that only the processes import load the engine, those
of the server none of it.
"""
