"""Completion of arguments in a shell: rules, requirements, notes, and folders. `click` completes options and files."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def complete_names(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return the codes of rules, ids of requirements, chapters and notes that begin with what was typed."""
    from deltaspec.requirements import load_requirements
    from deltaspec.rules import RULES

    requirements = load_requirements()
    chapters = dict.fromkeys(each.chapter for each in requirements.values())
    notes = sorted({note for each in requirements.values() for note in each.notes})
    return [name for name in (*RULES, *chapters, *requirements, *notes, "errata", "silent") if _begins(name, typed)]


def complete_codes(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return what was typed with its last code completed; commas separate codes."""
    from deltaspec.rules import RULES

    before, comma, last = typed.rpartition(",")
    return [f"{before}{comma}{code}" for code in RULES if _begins(code, last)]


def complete_chapters(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Return what was typed with its last chapter of requirements completed; commas separate chapters."""
    from deltaspec.requirements import load_requirements

    before, comma, last = typed.rpartition(",")
    chapters = dict.fromkeys(each.chapter for each in load_requirements().values())
    return [f"{before}{comma}{chapter}" for chapter in chapters if _begins(chapter, last)]


def complete_table(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Let the shell complete a folder."""
    return [CompletionItem(typed, type="dir")]


def _begins(name: str, typed: str) -> bool:
    return name.casefold().startswith(typed.casefold())
