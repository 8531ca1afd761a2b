"""Options that several commands take, and how their values are read."""

import time

import click

REVISIONS = click.Choice(["r1", "r2", "r3", "current"])
COLOR = click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)


def parse_codes(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Codes of rules, or their beginnings, in capitals."""
    return [name.upper() for name in parse_names(context, parameter, value)]


def parse_names(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Names with commas between them; an option that is given has to name something, for none given means all."""
    found = [name.strip() for each in value for name in each.split(",") if name.strip()]
    if value and not found:
        raise click.BadParameter("names nothing")
    return found


def parse_instant(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Milliseconds since the epoch of a moment as ISO 8601 with its zone has it, or of now."""
    if value is None:
        return None
    if value == "now":
        return int(time.time() * 1000)
    from datetime import UTC, datetime, timedelta

    try:
        found = datetime.fromisoformat(value)
    except ValueError as fault:
        raise click.BadParameter(f"{value!r} is neither `now` nor a moment such as 2026-11-21T12:00:00Z") from fault
    if found.tzinfo is None:
        raise click.BadParameter(f"{value!r} has no zone; add one, such as Z for UTC")
    return (found - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
