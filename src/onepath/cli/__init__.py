"""The command: fit, what is made of a fit, demo, paper. Numerics are imported only where they are needed."""

import gc
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

from onepath.cli.console import prepare_streams
from onepath.cli.demo import demo
from onepath.cli.fit import fit
from onepath.cli.models import curves, forecast, info, report, simulate, states
from onepath.cli.panel import panel
from onepath.cli.studio import studio

app = typer.Typer(
    name="onepath",
    help="Learn a stochastic differential equation dX = f(X) dt + σ(X) dW from one observed trajectory.",
    epilog="Begin with:  onepath demo   then:  onepath fit your.csv --report report.html",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"onepath {version('onepath')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version.")] = False,
) -> None:
    pass


for _command in (fit, panel, simulate, forecast, curves, states, report, info, demo, studio):
    app.command()(_command)


def paper(context: typer.Context) -> None:
    """Re-run the one-shot paper: its tables and figures, what it printed beside what comes out here.

    Example:  onepath paper --help
    """
    # a command of its own, so that its modules are imported only for it
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command()(import_module("onepath.compare.paper.command").paper)
    typer.main.get_command(alone).main(args=context.args, prog_name="onepath paper")


through = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
app.command(context_settings=through)(paper)


def main() -> None:
    """Run the command.

    It lives for seconds: to look for cyclic garbage as often as a long-lived process does takes a tenth of them.
    """
    gc.set_threshold(1_000_000, 50, 50)
    prepare_streams()
    try:
        app()
    except OSError as error:  # in what is said before a command begins, such as its help
        sys.exit(f"onepath: the standard output could not be written ({error.strerror})")
