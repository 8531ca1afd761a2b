"""Paths of data files: what must be decoded, and how often."""

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_history.written_table import WrittenTable
from deltaspec_generators.table_uris import ELSEWHERE_URI, ELSEWHERE_URI_OF_HADOOP

chapter = Chapter("paths")
SALES = [("id", "long"), ("item", "string")]
NAMES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "space": ("a space", "a b.parquet", ()),
    "percent": ("a percent sign", "a%.parquet", ("path-001",)),
    "encoded-percent": ("what looks encoded", "a%20b.parquet", ("path-001",)),
    "twice-encoded": ("what looks encoded twice", "part=a%2520b/c.parquet", ("path-001", "path-009")),
    "hash": ("a number sign", "a#b.parquet", ()),
    "question-mark": ("a question mark", "a?b=c.parquet", ()),
    "plus": ("a plus sign", "a+b.parquet", ("path-001",)),
    "colon": ("a colon in a directory", "a:b/c.parquet", ("path-001",)),
    "equals": ("equals signs", "a=b=c/d.parquet", ("path-001",)),
    "ampersand": ("an ampersand", "a&b.parquet", ()),
    "umlaut": ("a letter beyond ASCII", "Zürich.parquet", ()),
    "decomposed": ("a combining accent", "e\u0301.parquet", ()),
    "han": ("Chinese characters", "日本/語.parquet", ()),
    "emoji": ("a character beyond the basic plane", "😀.parquet", ()),
    "parentheses": ("parentheses and an apostrophe", "it's (b).parquet", ("path-007",)),
    "brackets": ("brackets and braces", "[a]{b}.parquet", ()),
    "star": ("an asterisk", "a*b.parquet", ()),
    "tilde": ("a tilde and an exclamation mark", "~a!.parquet", ()),
    "quotes": ("quotation marks", 'a"b.parquet', ()),
    "upper-case": ("upper case letters only", "A/B.PARQUET", ()),
    "deep": ("many directories", "a/b/c/d/e/f/g.parquet", ()),
    "no-suffix": ("no suffix", "data-file", ()),
    "long": ("200 characters", f"{'x' * 192}.parquet", ()),
    "hidden-directory": ("a directory with a leading dot", ".hidden/a.parquet", ()),
    "newline": ("a line break", "a\nb.parquet", ()),
}
POSIX_ONLY = ("question-mark", "colon", "star", "quotes", "newline")

for name, (text, path, bugs) in NAMES.items():

    def build_path(path: str = path) -> WrittenTable:
        table = WrittenTable(SALES)
        table.append([(1, "apple"), (2, "pear")], name=path)
        table.append([(3, "fig")], name=f"removed/{path}")
        with table.commit("remove one of the files"):
            table.remove_file(list(table.live.values())[1])
        return table

    chapter.case(
        name, f"A path with {text}; another one is removed.", "add.path-encoding",
        "reconciliation.queries-see-live-files",
        bugs=bugs, portability=("posix-names",) if name in POSIX_ONLY else (),
    )(build_path)  # fmt: skip

for name in ("space", "encoded-percent", "umlaut", "plus"):

    def build_in_checkpoint(path: str = NAMES[name][1]) -> WrittenTable:
        table = WrittenTable(SALES)
        table.append([(1, "apple"), (2, "pear")], name=path)
        table.append([(3, "fig")], name=f"removed/{path}")
        table.checkpoint()
        with table.commit("remove one of the files"):
            table.remove_file(list(table.live.values())[1])
        table.clean_up(2)
        return table

    chapter.case(
        f"in-checkpoint.{name}", f"A path with {NAMES[name][0]} in a checkpoint; another one is removed after it.",
        "add.path-encoding", "checkpoint.equals-replay", bugs=("path-004",),
    )(build_in_checkpoint)  # fmt: skip


@chapter.case("more-encoded-than-needed", "Letters and digits of a path are encoded, too.", "add.path-encoding")
def build_over_encoded() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")], name="ab1.parquet", path="%61b%31.parquet")
    return table


@chapter.case("lower-case-escapes", "The hexadecimal digits of an escape are lower case.", "add.path-encoding")
def build_lower_case_escapes() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")], name="é.parquet", path="%c3%a9.parquet")
    return table


for name, path in (("plain", "a.parquet"), ("encoded", "p=a%20b/c d.parquet")):

    def build_absolute(path: str = path) -> WrittenTable:
        table = WrittenTable(SALES)
        table.append([(1, "apple"), (2, "pear")], name=path, absolute=True)
        table.append([(3, "fig")])
        table.append([(4, "nut")], name="removed.parquet", absolute=True)
        table.remove("removed.parquet")
        return table

    chapter.case(
        f"absolute.{name}", f"Absolute paths of data files ({name}).", "add.path", "add.path-encoding",
        portability=("absolute-paths",), bugs=("path-009",),
    )(build_absolute)  # fmt: skip


for name, root in (("plain", ELSEWHERE_URI), ("one-slash", ELSEWHERE_URI_OF_HADOOP)):

    def build_elsewhere(root: str = root) -> WrittenTable:
        table = WrittenTable(SALES)
        table.append([(1, "apple"), (2, "pear")], name="a b.parquet", path=f"{root}a%20b.parquet")
        table.append([(3, "fig")])
        table.append([(4, "nut")], name="removed.parquet", path=f"{root}removed.parquet")
        table.remove("removed.parquet")
        return table

    chapter.case(
        f"elsewhere.{name}", f"Data files in another directory, as of a shallow clone ({name}).",
        "add.path", "add.path-encoding", "reconciliation.queries-see-live-files", portability=("absolute-paths",),
    )(build_elsewhere)  # fmt: skip


@chapter.case(
    "elsewhere.with-vector",
    "A deletion vector deletes rows of a data file in another directory.",
    "add.path",
    "deletion-vectors.honoured",
    portability=("absolute-paths",),
)
def build_elsewhere_with_vector() -> WrittenTable:
    table = WrittenTable(SALES, features=["deletionVectors"])
    table.append([(1, "apple"), (2, "pear"), (3, "fig")], name="a.parquet", path=f"{ELSEWHERE_URI}a.parquet")
    table.delete(lambda row: row["id"] == 2, by="stored")
    return table
