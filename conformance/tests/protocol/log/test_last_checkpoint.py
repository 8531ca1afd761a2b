"""The hint `_last_checkpoint` and its checksum. Source: Last Checkpoint File."""

import msgspec
import pytest

from deltaspec.protocol.json_values import parse_lossless
from deltaspec.protocol.log.last_checkpoint import LastCheckpoint, compare_hint_checksum


def test_hint_with_every_field() -> None:
    text = (
        '{"version":10,"size":13,"parts":3,"sizeInBytes":100,"numOfAddFiles":5,"checkpointSchema":{"type":"struct",'
        '"fields":[]},"checksum":"0","tags":{"k":"v"},"v2Checkpoint":{"path":"x"},"unknown":[1]}'
    )
    assert msgspec.json.decode(text, type=LastCheckpoint) == LastCheckpoint(
        version=10,
        size=13,
        parts=3,
        size_in_bytes=100,
        num_of_add_files=5,
        checkpoint_schema={"type": "struct", "fields": []},
        checksum="0",
        tags={"k": "v"},
    )


def test_hint_requires_only_version_and_size() -> None:
    assert msgspec.json.decode('{"version":0,"size":2}', type=LastCheckpoint) == LastCheckpoint(version=0, size=2)
    assert msgspec.json.encode(LastCheckpoint(version=0, size=2)) == b'{"version":0,"size":2}'


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"version":1}', '{"size":1}', '{"version":"1","size":1}', '{"version":9223372036854775808,"size":1}'],
)
def test_hint_without_version_or_size_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(text, type=LastCheckpoint)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # MD5 of `"size"=8,"version"=10`, computed by md5sum
        ('{"version":10,"size":8,"checksum":"CHECKSUM"}', "matches"),
        ('{"size":8,"checksum":"CHECKSUM","version":10}', "matches"),
        ('{"version":10,"size":9,"checksum":"CHECKSUM"}', "differs"),
        ('{"version":10.0,"size":8,"checksum":"CHECKSUM"}', "differs"),
        ('{"version":10,"size":8,"tags":{"a":"\\ud800"},"checksum":"CHECKSUM"}', "differs"),
        ('{"version":10,"size":8,"checksum":""}', "differs"),
        ('{"version":10,"size":8}', None),
        ('{"version":10,"size":8,"checksum":null}', None),
        ('["checksum"]', None),
    ],
)
def test_checksum_covers_the_other_fields(text: str, answer: str | None) -> None:
    document = parse_lossless(text.replace("CHECKSUM", "b362ceb0caa8374bf112a9f4ae038584")).value
    assert compare_hint_checksum(document) == answer


@pytest.mark.parametrize(
    ("md5", "answer"),
    [
        ("82f777c9575dcbb8831ce028cdf8e5d5", "matches"),
        ("e6e7f7501e532040b7a2abe0a2140083", "matches pair order"),
        ("82f777c9575dcbb8831ce028cdf8e5d6", "differs"),
        ("82F777C9575DCBB8831CE028CDF8E5D5", "matches"),
    ],
)
def test_orders_of_a_long_array_are_distinguished(md5: str, answer: str) -> None:
    document = parse_lossless(f'{{"a":[0,1,2,3,4,5,6,7,8,9,10,11],"checksum":"{md5}"}}').value
    assert compare_hint_checksum(document) == answer
