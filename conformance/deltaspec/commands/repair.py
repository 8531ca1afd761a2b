"""`deltaspec repair`: apply the repair of a table."""

import click

from deltaspec.commands.repair_apply import apply


@click.group()
def repair() -> None:
    """Apply the repair of a table."""


repair.add_command(apply)
