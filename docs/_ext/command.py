"""The directive `commands`: what `onepath NAME --help` says of every command, as sections of a page."""

from docutils import nodes
from docutils.parsers.rst import Directive

ELSEWHERE = ("paper",)
"""Commands that tell of themselves when they are run."""


class Commands(Directive):
    """Every command with its arguments and options, read off the program itself."""

    def run(self):
        import typer

        from onepath.cli import app

        commands = typer.main.get_command(app).commands
        return [section_of(name, each) for name, each in commands.items() if name not in ELSEWHERE]


def section_of(name, command):
    """What it does, an example, and a row for each argument and option."""
    said, _, example = (command.help or "").partition("Example:")
    context = command.make_context(name, [], resilient_parsing=True)
    rows = [described(one, context) for one in command.get_params(context)]
    section = nodes.section(ids=[f"onepath-{name}"], names=[f"onepath {name}"])
    section += nodes.title("", f"onepath {name}")
    section += nodes.paragraph("", " ".join(said.split()))
    if example.strip():
        section += nodes.literal_block(example.strip(), example.strip(), language="text")
    listed = nodes.definition_list()
    for names, words in rows:
        term = nodes.term("", "", nodes.literal("", names))
        listed += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", words)))
    section += listed
    return section


def described(parameter, context):
    """Names and words of one argument or option."""
    record = parameter.get_help_record(context)
    words = record[1] if record is not None else getattr(parameter, "help", None) or ""
    is_option = parameter.param_type_name == "option"
    names = ", ".join([*parameter.opts, *parameter.secondary_opts]) if is_option else parameter.name.upper()
    return names, " ".join(words.split())


def setup(app):
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
