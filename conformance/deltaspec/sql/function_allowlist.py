"""Built-in functions that an expression may call: they are deterministic and have no side effects.

Not listed: functions that call JVM classes, describe the session or the file, return random numbers or the current
time, and functions that users can define. Some listed functions depend on the session time zone, but are safe to run.
"""

_BY_ARGUMENTS = {
    (0, 0): "pi e",
    (1, 1): """
        length len char_length character_length octet_length bit_length upper ucase lower lcase reverse initcap
        ascii chr char abs sign signum ceil ceiling floor sqrt cbrt exp expm1 ln log10 log2 log1p
        sin cos tan asin acos atan degrees radians
        isnull isnotnull isnan year month day dayofmonth dayofweek dayofyear weekday weekofyear quarter hour
        minute second last_day unix_date date_from_unix_date unix_seconds unix_millis unix_micros timestamp_seconds
        timestamp_millis timestamp_micros md5 sha sha1 crc32 hex unhex base64 unbase64 bin bit_count size cardinality
        array_size map_keys map_values array_max array_min array_distinct soundex positive negative not
        """,
    (1, 2): "trim ltrim rtrim btrim round bround to_date to_timestamp to_timestamp_ntz log from_unixtime",
    (1, 99): "coalesce concat hash xxhash64 array struct",
    (2, 2): """
        left right startswith endswith contains instr repeat mod pmod power pow atan2 hypot nvl ifnull nullif nanvl
        date_add date_sub datediff date_diff add_months trunc date_trunc next_day date_format sha2 array_contains
        element_at get_json_object shiftleft shiftright bit_get equal_null rlike regexp regexp_like like
        """,
    (2, 3): "substring substr locate position split regexp_extract regexp_substr months_between lpad rpad",
    (2, 99): "greatest least concat_ws",
    (3, 3): "if nvl2 translate split_part conv make_date",
    (3, 4): "replace overlay",
    (3, 5): "regexp_replace",
}

DETERMINISTIC = {name: limits for limits, names in _BY_ARGUMENTS.items() for name in names.split()}
"""Minimum and maximum number of arguments, by name in lower case."""


def find_call_error(name: str, arguments: int) -> str | None:
    """Return why a call is not supported; None if it is."""
    if name not in DETERMINISTIC:
        return f"the function {name[:60]} is not in the list of deterministic functions"
    least, most = DETERMINISTIC[name]
    if not least <= arguments <= most:
        return f"{name} is called with {arguments} arguments; expected {least} to {most}"
    return None
