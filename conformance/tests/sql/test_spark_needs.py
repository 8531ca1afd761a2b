"""What an expression needs that the embedded backend cannot evaluate."""

import pytest

from deltaspec.protocol.schema.data_types import Field, Primitive, Struct
from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.spark_needs import describe_need

SCHEMA = Struct(
    tuple(
        Field(name, Primitive(kind), True, {}) for name, kind in (("at", "timestamp"), ("day", "date"), ("n", "long"))
    )
)


@pytest.mark.parametrize(
    ("text", "need", "need_with_zone"),
    [
        ("length(CAST(n AS STRING)) > 1", "needs Spark", "needs Spark"),
        ("at > '2020-01-01 00:00:00Z'", "needs Spark", "needs Spark"),
        ("day = CAST(at AS DATE)", "needs Spark and --writer-time-zone", "needs Spark"),
        ("n = year(AT)", "needs Spark and --writer-time-zone", "needs Spark"),
        ("n = exp(n)", "is not evaluated", "is not evaluated"),
        ("at > timestamp_seconds(n)", "needs Spark", "needs Spark"),
        ("length(CAST(gone AS STRING)) > 1", "is not evaluated", "is not evaluated"),
        ("day = CAST(gone.at AS DATE)", "is not evaluated", "is not evaluated"),
    ],
)
def test_need_of_an_expression(text: str, need: str, need_with_zone: str) -> None:
    answer = parse_expression(text)
    assert isinstance(answer, SupportedExpression)
    assert describe_need(answer.tree, SCHEMA, zone_is_known=False) == need
    assert describe_need(answer.tree, SCHEMA, zone_is_known=True) == need_with_zone
