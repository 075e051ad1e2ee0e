"""``.. command-line::``: every command and option, from the parser itself."""

from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from skdppca.cli._parser import COMMANDS, parser_of


def literal(text: str) -> str:
    """Return help text as reStructuredText: nothing in it is markup."""
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("`", "").replace("_", "\\_")


def subcommands(parser: ArgumentParser) -> dict[str, tuple[ArgumentParser, str]]:
    """Return the parsers below a parser, with their summaries."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            return {name: (one, summaries[name]) for name, one in action.choices.items()}
    return {}


def unset(action: Action) -> bool:
    """Return whether an argument has no default that is worth a word."""
    return isinstance(action.default, bool) or action.default in (None, SUPPRESS, [])


def described(action: Action) -> Iterator[str]:
    """Return one argument as an entry of a definition list."""
    metavar = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    several = " ..." if action.nargs == "+" else ""
    taken = "" if action.nargs == 0 else f" {metavar}{several}"
    names = [f"``{name}{taken}``" for name in action.option_strings] or [f"``{metavar}``"]
    yield ", ".join(names)
    help_ = (action.help or "") % vars(action)
    if action.required and action.option_strings:
        help_ += " (required)"
    elif not unset(action) and "default" not in help_:
        help_ += f" (default: {action.default})"
    yield f"   {literal(help_.strip()) or '–'}"


def section(parser: ArgumentParser, summary: str, underline: str) -> Iterator[str]:
    """Return the section of a command, with those of the commands below it."""
    title = parser.prog.removeprefix("skdppca ")
    yield from (title, underline * len(title), "")
    if summary:
        yield from (literal(summary[0].upper() + summary[1:]) + ".", "")
    below = subcommands(parser)
    if not below:
        usage = parser.format_usage().removeprefix("usage: ").splitlines()
        lines = (line.removeprefix(" " * len("usage: ")) for line in usage)
        yield from (".. code-block:: text", "", *(f"   {line}" for line in lines), "")
    for action in parser._actions:
        if action.help != SUPPRESS and action.dest not in ("help", SUPPRESS):
            if not isinstance(action, _SubParsersAction):
                yield from described(action)
                yield ""
    for one, about in below.values():
        yield from section(one, about, "~")


class CommandLine(SphinxDirective):
    """All commands, a section each."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        lines: list[str] = []
        for name in COMMANDS:
            command, summary = subcommands(parser_of(name))[name]
            lines += section(command, summary, "-")
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
