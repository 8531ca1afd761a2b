"""Paths as URI references, and when two are one file. Source: Add File and Remove File; RFC 2396."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.files.paths import (
    PathError,
    decode,
    encode,
    escapes_table,
    find_path_fault,
    has_colon_in_first_segment,
    has_non_ascii,
    is_absolute,
    path_key,
)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("part-0.parquet", "part-0.parquet"),
        ("a%20b.parquet", "a b.parquet"),
        ("date=2020-01-01%2000%3A00/x", "date=2020-01-01 00:00/x"),
        ("a%2Fb", "a/b"),
        ("s=%253A/x", "s=%3A/x"),
        ("%C3%A9", "é"),
        ("%c3%a9", "é"),
        ("é", "é"),
        ("a+b", "a+b"),
        ("", ""),
    ],
)
def test_path_decodes_once(path: str, name: str) -> None:
    assert decode(path) == name


@pytest.mark.parametrize("path", ["%", "a%2", "%zz", "%C3", "%FF", "%ED%A0%80", "\ud800"])
def test_path_without_a_name_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        decode(path)


@given(st.text())
def test_encoded_name_is_a_valid_path_and_decodes_back(name: str) -> None:
    path = encode(name)
    assert decode(path) == name
    assert not has_non_ascii(path)
    assert find_path_fault(path) == (None if name else "is empty")


@given(st.text(min_size=1))
def test_encoded_name_has_no_scheme(name: str) -> None:
    path = encode(name)
    assert not has_colon_in_first_segment(path)
    assert is_absolute(path) == name.startswith("/")


def test_encoding_keeps_partition_folders_readable() -> None:
    assert encode("a=1/b=x y/part-0.parquet") == "a=1/b=x%20y/part-0.parquet"
    assert encode("t=10:30/é%") == "t=10%3A30/%C3%A9%25"


def test_name_without_utf8_form_is_refused() -> None:
    with pytest.raises(PathError):
        encode("\ud800")


@pytest.mark.parametrize("path", ["/x", "file:/x", "file:///x", "s3://bucket/x", "abfss://c@a.dfs.core.windows.net/x"])
def test_scheme_or_leading_slash_is_absolute(path: str) -> None:
    assert is_absolute(path)
    assert not has_colon_in_first_segment(path)


@pytest.mark.parametrize("path", ["x", "a=1/x", "a=1:2/x", "a%3Ab/x", "./x", "../x", "é:b", ""])
def test_other_paths_are_relative(path: str) -> None:
    assert not is_absolute(path)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("a:b/x.parquet", True),
        ("a=10:30/x.parquet", True),
        ("a:b.parquet", True),
        (":x", True),
        ("a:", True),
        ("a/b:c.parquet", False),
        ("/a:b/x", False),
        ("a%3Ab/x", False),
        ("s3://bucket/a:b", False),
        ("x.parquet", False),
    ],
)
def test_colon_before_the_first_slash(path: str, answer: bool) -> None:
    assert has_colon_in_first_segment(path) is answer


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "is empty"),
        ("a%2", "has a malformed percent escape"),
        ("100%", "has a malformed percent escape"),
        ("a b", "contains a character that a URI must escape: ' '"),
        ("a\tb", "contains a character that a URI must escape: '\\t'"),
        ("a\x00b", "contains a character that a URI must escape: '\\x00'"),
        ("a#b", "contains a character that a URI must escape: '#'"),
        ('a"b', "contains a character that a URI must escape: '\"'"),
        ("a\\b", "contains a character that a URI must escape: '\\\\'"),
        ("a[b]", "contains a character that a URI must escape: '['"),
        ("s3://bucket/a{b}", "contains a character that a URI must escape: '{'"),
        ("a?b", "contains an unescaped '?', which starts a query"),
        ("%FF", "has percent escapes that are not UTF-8"),
        ("\udfff", "contains a lone surrogate"),
    ],
)
def test_fault_describes_the_violation(path: str, words: str) -> None:
    assert find_path_fault(path) == words


@pytest.mark.parametrize(
    "path",
    [
        "part-00000-3935a07c-416b-4344-ad97-2a38342ee2fc.c000.snappy.parquet",
        "date=2017-12-10/part-000.c000.gz.parquet",
        "a=x%20y%5B1%5D/z.parquet",
        "x;y,z:@&=+$-_.!~*'()",
        "http://[::1]:9000/bucket/x",
        "s3a://bucket/x%23y",
        "file:///tmp/x",
        "é/x",
        "..",
    ],
)
def test_uri_reference_has_no_fault(path: str) -> None:
    assert find_path_fault(path) is None


@pytest.mark.parametrize(("path", "answer"), [("s=é/x", True), ("s=%C3%A9/x", False), ("日本", True), ("x~", False)])
def test_non_ascii_characters_are_reported_separately(path: str, answer: bool) -> None:
    assert has_non_ascii(path) is answer


SPELLINGS = [
    ("x%20y", "x y"),
    ("%78", "x"),
    ("s=%c3%a9/x", "s=%C3%A9/x"),
    ("s=%C3%A9/x", "s=é/x"),
    ("/x", "file:/x"),
    ("/x", "file:///x"),
    ("file:/x", "FILE:///x"),
    ("file:///x", "file://localhost/x"),
    ("file:/x%20y", "/x y"),
    ("./x", "x"),
    (".//x", "x"),
    ("a/./x", "a/x"),
    ("a/../x", "x"),
    ("a/%2E%2e/%2e/x", "x"),
    ("a/b/../../../x", "../x"),
    ("S3://b/x", "s3://b/x"),
    ("s3://b/a/../x", "s3://b/x"),
    ("/a/../x", "file:///./x"),
]


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_spellings_of_one_file_have_one_key(one: str, other: str) -> None:
    assert path_key(one) == path_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x", "/x"),
        ("X", "x"),
        ("x", "x%2520"),
        ("a+b", "a%20b"),
        ("file://host/x", "/host/x"),
        ("file%3A/x", "file:/x"),
        ("s3://a/x", "s3://b/x"),
        ("s3://a/x", "/a/x"),
        ("a//b", "a/b"),
        ("s3://B/x", "s3://b/x"),
        ("a%2F..%2Fx", "x"),
        ("..x", "x"),
        ("../x", "x"),
        (".../x", "x"),
        ("a%252E/x", "x"),
    ],
)
def test_different_files_have_different_keys(one: str, other: str) -> None:
    assert path_key(one) != path_key(other)


@pytest.mark.parametrize(
    ("path", "root", "key"),
    [
        ("s3://b/t/a%20b/x", "s3://b/t", "a b/x"),
        ("s3://b/t/x", "s3://b/t/", "x"),
        ("/t/x", "file:///t", "x"),
        ("file:/t/x", "/t", "x"),
        ("file:///my%20table/x", "/my table", "x"),
        ("x", "/t", "x"),
        ("s3://b/table2/x", "s3://b/table", "s3://b/table2/x"),
        ("/t/../u/x", "/t", "/u/x"),
        ("/t/%2e%2e/u/x", "/t", "/u/x"),
        ("/t/../t/x", "/t", "x"),
        ("/t/a%2F..%2F..%2Fu", "/t", "/t/a/../../u"),
        ("S3://b/t/x", "s3://b/t", "x"),
        ("s3://b/t/x", "S3://b/t", "x"),
        ("/t", "/t", "/t"),
        ("/x", "/", "x"),
    ],
)
def test_absolute_path_below_the_table_is_the_relative_one(path: str, root: str, key: str) -> None:
    assert path_key(path, root) == key


@pytest.mark.parametrize("path", ["100%", "%FF", "a%2", "\ud800"])
def test_undecodable_path_is_its_own_key(path: str) -> None:
    assert path_key(path) == path
    assert path_key(path, "/t") == path


@pytest.mark.parametrize(
    "path", ["..", "../x", "a/../../x", "%2e%2e/x", "%2E./x", "..%2Fx", "a/../../t/x", "./../x", "a//../../x"]
)
def test_path_above_the_root_escapes_the_table(path: str) -> None:
    assert escapes_table(path)


@pytest.mark.parametrize(
    "path", ["x", "a/../x", "a/b/../../x", "...", "..x/y", "..\\x", "a..b", "", "./x", "%252e%252e/x"]
)
def test_path_within_the_root_stays_in_the_table(path: str) -> None:
    assert not escapes_table(path)


@pytest.mark.parametrize("path", ["/etc/passwd", "s3://other/../x"])
def test_absolute_path_never_escapes(path: str) -> None:
    assert not escapes_table(path)


def test_broken_escape_does_not_hide_parent_segments() -> None:
    assert escapes_table("../100%")


@given(st.text(alphabet="aé%2eF.:/\\?#[ \ud800", max_size=20) | st.text(max_size=20), st.none() | st.text(max_size=10))
def test_any_text_has_a_key_and_a_fault_or_none(path: str, root: str | None) -> None:
    assert isinstance(path_key(path, root), str)
    assert find_path_fault(path) is None or find_path_fault(path)
    assert escapes_table(path) in (True, False)
    assert is_absolute(path) in (True, False)
