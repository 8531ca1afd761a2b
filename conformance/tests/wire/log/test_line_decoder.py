"""JSON lines decode as in a simple reference decoder, on the fast path and on the slow path."""

import json
from unittest.mock import patch

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st
from wire.log.reference_lines import actions_by_line, assert_equals_reference, lines

from deltaspec.protocol.actions import ACTION_TYPES, get_action_types
from deltaspec.protocol.revisions import Revision
from deltaspec.wire.log import line_decoder, line_outcomes
from deltaspec.wire.log.canonical_lines import decode_canonical_block, decode_canonical_line
from deltaspec.wire.log.line_decoder import LogFile, decode_line_stream, decode_lines
from deltaspec.wire.log.line_validation import LineError, explain_line


@example_settings(300)
@given(every=st.lists(lines(), min_size=1, max_size=4))
def test_lines_decode_as_in_the_reference(every: list[bytes]) -> None:
    if every[-1] != b"":
        assert_equals_reference(decode_lines(b"\n".join(every)), every)
    assert_equals_reference(decode_lines(b"".join(line + b"\n" for line in every)), every)


@example_settings(200)
@given(line=lines().filter(bool), revision=st.sampled_from(Revision))
def test_fast_path_accepts_only_lines_without_defects(line: bytes, revision: Revision) -> None:
    kind, action = line_decoder.decode_valid_line(line, get_action_types(revision))
    if kind is None:
        return
    assert line_decoder.explain_and_decode(line, revision) == (kind, action, None)


CANONICAL = [
    (
        b'{"add":{"path":"a","partitionValues":{"p":null},"size":1,"modificationTime":2,"dataChange":true,'
        rb'"stats":"{\"numRecords\":3,\"minValues\":{\"x\":\"a \\\\\" :\"}}","tags":{"k":"v"},'
        b'"deletionVector":{"storageType":"u","pathOrInlineDv":"ab","offset":1,"sizeInBytes":2,"cardinality":3}}}'
    ),
    b'{"remove":{"path":"\xc3\xa9","deletionTimestamp":-1,"dataChange":false,"partitionValues":{},"size":0}}',
    b'{"cdc":{"path":"c","partitionValues":{"p":"1","q":"2"},"size":9223372036854775807,"dataChange":false}}',
    (
        b'{"metaData":{"id":"m","format":{"provider":"parquet","options":{"o":"1"}},"schemaString":"{}",'
        b'"partitionColumns":["p"],"configuration":{"a.b":"c"}}}'
    ),
    b'{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["a"],"writerFeatures":["a"]}}',
    b'{"txn":{"appId":"a","version":1,"lastUpdated":2}}',
    rb'{"domainMetadata":{"domain":"d","configuration":"{\"a\":1}","removed":false}}',
    b'{"sidecar":{"path":"s","sizeInBytes":1,"modificationTime":2}}',
    b'{"checkpointMetadata":{"version":1,"tags":{"k":null}}}',
]


_ADD = b'{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true}}'
_REMOVE = b'{"remove":{"path":"b","dataChange":true}}'


@pytest.mark.parametrize("line", CANONICAL)
def test_canonical_lines_take_the_fastest_path(line: bytes) -> None:
    found = decode_canonical_line(line, Revision.CURRENT)
    assert found[1] is not None
    assert line_decoder.decode_valid_line(line, ACTION_TYPES) in (found, (None, None))
    assert line_decoder.explain_and_decode(line, Revision.CURRENT) == (*found, None)


@pytest.mark.parametrize("line", CANONICAL)
def test_lines_with_a_space_after_each_separator_take_the_fastest_path(line: bytes) -> None:
    spaced, expected = add_spaces(line), decode_canonical_line(line, Revision.CURRENT)
    assert decode_canonical_line(spaced, Revision.CURRENT) == expected
    block = decode_canonical_block(b"\n".join([spaced, line, spaced]), Revision.CURRENT)
    assert block == ([expected[0]] * 3, [expected[1]] * 3)
    assert line_decoder.explain_and_decode(spaced, Revision.CURRENT) == (*expected, None)


def add_spaces(line: bytes) -> bytes:
    """Write a line as most JSON libraries of Python do by default: but `{"kind":` stays as it is."""
    kind, _, body = line.partition(b":")
    return kind + b":" + json.dumps(json.loads(body[:-1]), ensure_ascii=False).encode() + b"}"


def test_keys_of_a_canonical_line_may_have_any_order() -> None:
    line = b'{"txn":{"lastUpdated":2,"version":1,"appId":"a"}}'
    assert decode_canonical_line(line, Revision.CURRENT)[0] == "txn"


_DAMAGE = (
    *(
        b" ",
        b"\t",
        b"\r",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\xff",
        b"\\ud800",
        b"\\u0061",
        b"\\/",
        b"\\",
        b'"',
    ),
    *(
        b"null",
        b"1",
        b".0",
        b"e3",
        b"9" * 20,
        b"-",
        b"0",
        b"{}",
        b"}",
        b"{",
        b",",
        b'"a":1,',
        b',"a":null',
        b'"path":"b",',
    ),
    *(b'"size"\r:1,', b',"size"\r:1', b'"size" :1,', b',"s\\u0069ze":1', b'"tags":null,', b'"x":{"a":1,"a":2},'),
    *(b',"txn":{"appId":"a","version":1}', b',"remove":null', b',"future":{}', b',"commitInfo":{}'),
)


@st.composite
def damaged_lines(draw: st.DrawFn) -> bytes:
    """Draw a canonical line; insert, replace or remove a few bytes, mostly next to punctuation."""
    line = draw(st.sampled_from(CANONICAL))
    if draw(st.booleans()):
        line = add_spaces(line)
    for _ in range(draw(st.integers(1, 2))):
        marks = [at for at, byte in enumerate(line) if byte in b'{}:,"'] or [0]
        begin = draw(st.sampled_from(marks) | st.integers(0, len(line))) + draw(st.integers(0, 1))
        end = begin + draw(st.sampled_from((0, 0, 0, 1, 2)))
        line = line[:begin] + draw(st.sampled_from((*_DAMAGE, b""))) + line[end:]
    return line


@example_settings(300)
@given(line=damaged_lines(), revision=st.sampled_from(Revision))
def test_faster_paths_accept_only_what_the_slow_path_accepts(line: bytes, revision: Revision) -> None:
    for found in (
        decode_canonical_line(line, revision),
        line_decoder.decode_valid_line(line, get_action_types(revision)),
    ):
        assert found[0] is None or line_decoder.explain_and_decode(line, revision) == (*found, None)


@example_settings(100)
@given(
    every=st.lists(st.sampled_from(CANONICAL) | damaged_lines(), max_size=6),
    ending=st.sampled_from((b"", b"\n", b"\r\n", b"\n\n")),
    revision=st.sampled_from(Revision),
)
def test_files_decode_as_on_the_slow_path(every: list[bytes], ending: bytes, revision: Revision) -> None:
    data = b"\n".join(every) + ending
    assert_same_file(decode_lines(data, revision), decode_slowly(data, revision))


def decode_slowly(data: bytes, revision: Revision = Revision.CURRENT) -> LogFile:
    """Decode a file line by line on the slow path."""
    with (
        patch.object(line_decoder, "decode_canonical_block", lambda *_: None),
        patch.object(line_decoder, "decode_canonical_line", lambda *_: (None, None)),
        patch.object(line_decoder, "decode_valid_line", lambda *_: (None, None)),
    ):
        return decode_lines(data, revision)


def assert_same_file(found: LogFile, expected: LogFile) -> None:
    assert list(found.lines) == list(expected.lines)
    assert (found.actions, found.files, found.unread) == (expected.actions, expected.files, expected.unread)
    assert found.summary == expected.summary


@example_settings(200)
@given(
    lines_before=st.lists(st.sampled_from(CANONICAL), min_size=1, max_size=4),
    odd=damaged_lines() | st.sampled_from((b"", b" ", b"{}", b"\r")),
    lines_after=st.lists(st.sampled_from(CANONICAL), max_size=4),
    separators=st.sampled_from((b"\n", b"\n", b"\n", b"\n\n", b"", b" ", b"\r\n", b"\x0b", b",")),
    place=st.integers(0, 9),
    revision=st.sampled_from(Revision),
)
def test_blocks_decode_as_on_the_slow_path(
    lines_before: list[bytes],
    odd: bytes,
    lines_after: list[bytes],
    separators: bytes,
    place: int,
    revision: Revision,
) -> None:
    """A single odd line or separator is among canonical lines."""
    every = [*lines_before, odd, *lines_after]
    data = b"".join(line + (separators if number == place % len(every) else b"\n") for number, line in enumerate(every))
    for text in (data, data + b"\n", data[:-1], b"\n" + data):
        assert_same_file(decode_lines(text, revision), decode_slowly(text, revision))


@pytest.mark.parametrize("revision", Revision)
def test_canonical_files_are_decoded_in_one_call(revision: Revision) -> None:
    """With and without the free-form commitInfo at either end, and the last line feed."""
    lines = [line for line in CANONICAL if decode_canonical_line(line, revision)[0]]
    info = [b'{"commitInfo":{ "x" : 1}}']
    for every in (lines, info + lines, lines + info):
        for data in (b"\n".join(every), b"\n".join(every) + b"\n"):
            with patch.object(line_decoder, "decode_valid_line", side_effect=line_decoder.decode_valid_line) as valid:
                found = decode_lines(data, revision)
            assert valid.call_count == len(every) - len(lines), f"{data=}"
            assert_same_file(found, decode_slowly(data, revision))


@pytest.mark.parametrize(
    "block",
    [
        _ADD + _REMOVE + b"\n\n",
        _ADD + b"\n\n" + _REMOVE,
        _ADD + b" " + _REMOVE + b"\n",
        _ADD[:-1] + b"," + _REMOVE[1:] + b"\n" + _ADD + b"\n",
        _ADD[:-1] + b"\n}" + _REMOVE + b"\n",
        b"\n" + _ADD + b"\n" + _REMOVE,
        _ADD + b"\r\n" + _REMOVE,
        _ADD + b"\n" + _REMOVE + b"\n\n",
        _ADD + b"\n" + _REMOVE + b"\n ",
        _ADD + b"\n{}\n" + _REMOVE + b"\n",
        _ADD + b'\n{"commitInfo":{}}\n' + _REMOVE + b"\n",
        _ADD + b'\n{"future":{}}\n' + _REMOVE + b"\n",
        _ADD + b"\n" + _REMOVE.replace(b'"path"', b'"p\\u0061th"') + b"\n",
        _ADD + b"\n" + _REMOVE.replace(b"true", b'true,"dataChange":true') + b"\n",
        _ADD + b"\n" + _REMOVE.replace(b"true", b'true,"stats":null') + b"\n",
        _ADD + b"\n" + _REMOVE.replace(b'"b"', b'"\\ud800"') + b"\n",
        _ADD + b"\n" + _REMOVE.replace(b"true", b"1") + b"\n",
        b"",
        b"\n",
        b"\xff\n",
        b"[" * 100_000,
    ],
)
def test_blocks_with_anything_else_are_not_canonical(block: bytes) -> None:
    assert decode_canonical_block(block, Revision.CURRENT) is None


def test_canonical_block_may_end_without_a_line_feed() -> None:
    block = _ADD + b"\n" + _REMOVE
    for each in (block, block + b"\n"):
        assert [kind for kind, _ in zip(*decode_canonical_block(each, Revision.CURRENT) or ((), ()), strict=True)] == [
            "add",
            "remove",
        ]


def test_odd_line_slows_down_only_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_decoder, "BLOCK_BYTES", 9 * len(_ADD))
    data = (_ADD + b"\n") * 40 + b"{}\n" + (_ADD + b"\n") * 40
    with patch.object(line_decoder, "decode_canonical_line", side_effect=decode_canonical_line) as single:
        found = decode_lines(data)
    assert_same_file(found, decode_slowly(data))
    assert single.call_count < len(found.lines) // 2


@pytest.mark.parametrize("space", ["", "\r", " ", "\t", " \r\t"])
def test_repeated_key_is_found_in_every_position(space: str) -> None:
    """Every key is repeated before every other, and last; the copy or the original has space before its colon.

    The line is alone in its file, or between canonical lines.
    """
    values = {"path": '"a"', "partitionValues": "{}", "size": "1", "modificationTime": "2", "dataChange": "true"}
    for key, value in values.items():
        for place in range(len(values) + 1):
            for first, second in (("", space), (space, "")):
                written = [f'"{name}"{first if name == key else ""}:{each}' for name, each in values.items()]
                written.insert(place, f'"{key}"{second}:{value}')
                line = f'{{"add":{{{",".join(written)}}}}}\n'.encode()
                assert decode_lines(line).faults[1].repeated_key == f"/add/{key}", f"{line=}"
                log = decode_lines((_REMOVE + b"\n") * 2 + line + _REMOVE * 2 + b"\n" + _REMOVE)
                assert log.faults[3].repeated_key == f"/add/{key}", f"{line=}"
                assert list(log.faults) == [3, 4], f"{line=}"


@pytest.mark.parametrize(
    ("line", "pointer"),
    [
        (b'{"txn":{"appId":"a","version":1,"version":1}}', "/txn/version"),
        (rb'{"txn":{"appId":"a","version":1,"\u0076ersion":1}}', "/txn/version"),
        (b'{"txn":{"appId":"a","version":1},"txn":{"appId":"a","version":1}}', "/txn"),
        (b'{"commitInfo":{"x":[{"y":[{"z":1,"z" :1}]}]}}', "/commitInfo/x/0/y/0/z"),
        (rb'{"commitInfo":{"a/b~":1,"a\/b~":1}}', "/commitInfo/a~1b~0"),
        (rb'{"commitInfo":{"\\\":":1,"\\\":":1}}', '/commitInfo/\\":'),
    ],
)
def test_repeated_key_is_named_in_any_encoding(line: bytes, pointer: str) -> None:
    log = decode_lines(line + b"\n")
    assert log.faults[1].repeated_key == pointer
    assert log.kinds == [log.faults[1].kind]


def test_last_of_repeated_actions_is_used() -> None:
    log = decode_lines(b'{"txn":{"appId":"a","version":1},"txn":{"appId":"a","version":2}}\n')
    assert [(number, action.version) for number, action in log.actions] == [(1, 2)]  # type: ignore[attr-defined]


SUMMARIZED = [
    b'{"commitInfo":{"timestamp":1}}',
    b'{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}',
    b'{"remove":{"path":"b","dataChange":true}}',
    b'{"remove":{"path":"c","dataChange":true}}',
    b'{"remove":{"path":"d","dataChange":false}}',
    b"",
    b" ",
    b"{",
    b'{"metaData":5}',
]


def test_summary_counts_lines() -> None:
    summary = decode_lines(b"\n".join(SUMMARIZED)).summary
    assert summary.kinds == {"commitInfo": 1, "add": 1, "remove": 3, "metaData": 1, None: 3}
    assert (summary.first_kind, summary.blank_lines) == ("commitInfo", 2)
    assert (summary.removes_with_data_change, summary.has_cdc) == (2, False)
    assert (summary.undecoded_kinds, summary.unread) == ({"metaData", None}, [])
    assert [(line, type(action).__name__) for line, action in summary.actions] == [(1, "CommitInfo")]


def test_summary_names_the_first_line_that_was_not_decoded() -> None:
    cdc = b'{"cdc":{"path":"x","partitionValues":{},"size":1,"dataChange":false}}'
    summary = decode_line_stream(iter([cdc, None, None])).summary
    assert (summary.has_cdc, summary.undecoded_kinds) == (True, {None})
    (reason,) = summary.unread
    assert reason.startswith("line 2 is longer than ")


def test_empty_file_has_no_lines() -> None:
    assert decode_lines(b"").kinds == []
    assert decode_lines(b"\n").kinds == [None]


def test_final_line_feed_adds_no_line() -> None:
    line = b'{"commitInfo":{}}'
    assert decode_lines(line).kinds == decode_lines(line + b"\n").kinds == ["commitInfo"]
    assert decode_lines(line + b"\n\n").kinds == ["commitInfo", None]


def test_unknown_actions_are_ignored() -> None:
    log = decode_lines(b'{"future":{"add":{"path":1}}}\n')
    assert (log.kinds, log.actions, log.faults, log.undecoded_kinds) == ([None], [], {}, set())


def test_too_long_lines_are_counted_and_make_the_file_undecodable() -> None:
    log = decode_line_stream(iter([b'{"commitInfo":{}}', None, b""]))
    assert log.kinds == ["commitInfo", None]
    assert list(log.unread) == [2]
    assert log.undecoded_kinds == {None}


@pytest.mark.parametrize("escape", [rb"\ud800", rb"\udc00\ud800", rb"a\uDFFF", rb"\ud83d\u0041"])
def test_lone_surrogate_hides_the_action(escape: bytes) -> None:
    log = decode_lines(b'{"txn":{"appId":"' + escape + b'","version":1}}\n{"future":"' + escape + b'"}\n')
    assert [log.faults[line].has_lone_surrogate for line in (1, 2)] == [True, True]
    assert (log.actions, log.undecoded_kinds) == ([], {"txn"})


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_deep_nesting_is_reported_without_a_crash(opening: bytes) -> None:
    log = decode_lines(b'{"commitInfo":{"x":' + opening * 100_000 + b"\n")
    assert "levels deep" in (log.faults[1].json_error or "")


def test_two_actions_in_one_line_are_both_unknown() -> None:
    log = decode_lines(b'{"txn":{"appId":"a","version":1},"commitInfo":{}}\n')
    assert log.faults[1].actions == 2
    assert log.actions == []
    assert log.undecoded_kinds == {None}


@pytest.mark.parametrize("add", [b'"add":', b'"x":[{"add":{}}],"add":'])
def test_action_next_to_unrecognized_keys_is_decoded(add: bytes) -> None:
    line = b'{%s{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true},"y":2}' % add
    log = decode_lines(b"\n".join([line] * 5))
    assert [each.path for each in log.files.actions] == ["a"] * 5
    assert (log.undecoded_kinds, len(log.faults)) == (set(), 5)


@pytest.mark.parametrize("levels", [300, 500, 700, 900])
def test_deep_object_is_decoded_or_reported(levels: int) -> None:
    """At any remaining stack depth, the line is decoded or reported, without a crash."""
    log = decode_lines(b'{"commitInfo":{"x":' + b"[" * levels + b"]" * levels + b"}}\n")
    assert len(log.actions) + len(log.unread) == 1
    assert not log.faults


def test_too_deep_object_is_unread_and_not_a_defect() -> None:
    deep = b'{"commitInfo":{"x":' + b"[" * 5000 + b"]" * 5000 + b"}}"
    log = decode_lines(b"\n".join([deep, b"[" * 100_000, b""]))
    assert list(log.unread) == [1]
    assert list(log.faults) == [2]
    assert log.undecoded_kinds == {None}


FAULTY = [b"", b"{}", b"x", b"[]", b'{"add":1}', b'{"txn":{"appId":1}}', b'{"txn":{},"add":{}}', b"\xff", b'{"a":1}\r']


@pytest.mark.parametrize("line", FAULTY)
def test_equal_lines_are_explained_once_and_share_the_outcome(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    explained = []

    def explain(text: bytes, revision: Revision) -> LineError:
        explained.append(text)
        return explain_line(text, revision)

    monkeypatch.setattr(line_decoder, "explain_line", explain)
    log = decode_lines((line + b"\n") * 5000)
    assert explained.count(line) == (1 if line else 0)  # an empty line is explained when the module is imported
    assert len(log.lines) == len(log.faults) == 5000
    assert len(set(map(id, log.faults.values()))) == 1
    assert log.lines.codes.itemsize == 4


def test_lines_with_equal_defects_share_the_outcome() -> None:
    bad = '{"add":{"path":"%d","partitionValues":{},"size":"1","modificationTime":1,"dataChange":true}}\n'
    log = decode_lines("".join(bad % number for number in range(300)).encode())
    assert log.faults[300].schema_error == "size is the text '1', should be integer"
    assert len(set(map(id, log.faults.values()))) == 1


def test_line_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[bytes, int] = {}
    monkeypatch.setattr(line_decoder, "MAX_CACHED_LINES", 5)
    for number in range(100):
        line_decoder.cache_outcome(known, b"%d" % number, 1)
        assert len(known) <= 5, f"{number=}"
    known.clear()
    line_decoder.cache_outcome(known, b"x" * (line_decoder.MAX_CACHED_LINE_BYTES + 1), 1)
    assert known == {}


@example_settings(100)
@given(every=st.lists(lines(), min_size=1, max_size=4), order=st.lists(st.integers(0, 3), max_size=12))
def test_repeated_lines_decode_as_single_lines_do(every: list[bytes], order: list[int]) -> None:
    repeated = [every[place % len(every)] for place in order]
    with patch.object(line_decoder, "MAX_CACHED_LINES", 2):
        log = decode_lines(b"".join(line + b"\n" for line in repeated))
    alone = [decode_lines(line + b"\n") for line in repeated]
    assert log.kinds == [each.kinds[0] for each in alone]
    assert [log.faults.get(number) for number in range(1, len(repeated) + 1)] == [each.faults.get(1) for each in alone]
    assert len(actions_by_line(log)) == sum(len(actions_by_line(each)) for each in alone)


@pytest.mark.parametrize("data", [b"", b"\n", b"a", b"ab\n\n\ncd\n", b"\n\nabcdefgh\ni", b"abc\nd\ne\nfgh\n"])
def test_file_split_in_blocks_has_the_same_lines(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = decode_lines(data)
    for size in range(5):
        monkeypatch.setattr(line_decoder, "BLOCK_BYTES", size)
        blocks = list(line_decoder.split_blocks(data))
        assert b"".join(blocks) == data, f"{size=}"
        lines = [line for block in blocks for line in line_decoder.split_lines(block)]
        assert lines == (data.removesuffix(b"\n").split(b"\n") if data else []), f"{size=}"
        assert_same_file(decode_lines(data), expected)


def test_depth_that_is_read_does_not_depend_on_the_form_of_a_line() -> None:
    for levels in (150, 250, 600):
        body = b'{"x":' + b"[" * levels + b"1" + b"]" * levels + b"}"
        canonical, spaced = (b'{"commitInfo":' + each + b"}" for each in (body, body.replace(b":", b": ")))
        assert decode_lines(canonical).unread.keys() == decode_lines(spaced).unread.keys(), f"{levels=}"


def test_summaries_of_files_with_defects_are_not_cached() -> None:
    cache = line_outcomes.summarize_few_outcomes.cache_info
    before = cache().currsize
    assert decode_lines(b'{"commitInfo":{"not cached":1,"not cached":2}}').summary.kinds == {"commitInfo": 1}
    assert cache().currsize == before
