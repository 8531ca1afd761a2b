"""Planted faults of the checkpoint hint and its checksum."""

import hashlib
import json
from typing import Any

from hypothesis import strategies as st

from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import LOG, TableFiles, schema_string
from planted_tables.bases import log_only
from planted_tables.faults.registry import PLANTED_FAULTS, PlantedFault, draw_one, planted_fault


def _build_table_with_hint(**changes: Any) -> TableFiles:
    files = log_only.build_table_with_hint()
    assert isinstance(files.last_checkpoint, dict)
    files.last_checkpoint.update(changes)
    return files


@planted_fault("last-checkpoint.form")
def hint_malformed(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_hint()
    files.last_checkpoint = draw_one(draw, "[]", "{", '{"version":1}', '{"version":"1","size":4}', b"\xff")
    return files


@planted_fault("last-checkpoint.no-repeated-keys")
def hint_key_twice(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_hint()
    files.last_checkpoint = '{"version":1,"size":4,"version":1}'
    return files


@planted_fault("last-checkpoint.checksum")
def hint_checksum_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(checksum=draw_one(draw, "0" * 32, "x"))


@planted_fault("last-checkpoint.version")
def hint_ahead(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(version=draw(st.integers(2, 2**62)))


@planted_fault("last-checkpoint.parts")
def hint_parts_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(parts=draw(st.integers(-1, 0) | st.integers(2, 9)))


@planted_fault("last-checkpoint.parts")
def hint_of_one_part(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(parts=1)


@planted_fault("last-checkpoint.size")
def hint_size_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(size=draw_one(draw, 0, 3, 5))


@planted_fault("last-checkpoint.size", revisions=("r3", "current"))
def hint_size_of_sidecars_wrong(draw: st.DrawFn) -> TableFiles:
    """No way of counting the actions in the checkpoint and its sidecar gives the size."""
    files = log_only.build_v2_checkpointed_table()
    files.last_checkpoint = {"version": 1, "size": draw_one(draw, 0, 1, 17)}
    return files


@planted_fault("last-checkpoint.form")
def hint_without_bytes(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_hint()
    files.last_checkpoint = draw_one(draw, b"", b"\n", b"  ")
    return files


@planted_fault("last-checkpoint.size-in-bytes")
def hint_bytes_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(sizeInBytes=draw_one(draw, 0, 1))


@planted_fault("last-checkpoint.add-files")
def hint_add_files_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(numOfAddFiles=draw_one(draw, 0, 1, 3))


@planted_fault("last-checkpoint.schema")
def hint_schema_wrong(draw: st.DrawFn) -> TableFiles:
    """The stated schema has a column too few, or is no schema."""
    schema = json.loads(schema_string([("add", "long")]))
    return _build_table_with_hint(checkpointSchema=draw_one(draw, schema, {}, "add"))


@planted_fault("last-checkpoint.optional-fields")
def hint_field_of_another_type(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(
        **{draw_one(draw, "parts", "sizeInBytes", "numOfAddFiles"): draw_one(draw, "1", 1.5, [])}
    )


@planted_fault("last-checkpoint.optional-fields")
def hint_checksum_of_another_type(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(checksum=draw_one(draw, 7, {}))


@planted_fault("last-checkpoint.tags")
def hint_tags_of_another_type(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_hint(tags=draw_one(draw, [], "x", {"a": 1}))


@planted_fault("last-checkpoint.name")
def hint_of_another_name(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_hint()
    name = draw_one(draw, "last_checkpoint", "_last_checkpoint.json", "_LAST_CHECKPOINT")
    files.extra[f"{LOG}{name}"] = b'{"version":1,"size":4}'
    files.last_checkpoint = None
    return files


@planted_fault("last-checkpoint.checksum")
def hint_overwritten_without_checksum(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_hint()
    files.checkpoints.append(CheckpointFiles(0, "classic", rows=[*log_only.build_state_rows(files)[:2]]))
    return files


_LEAVES = ('"size"=4', '"version"=1', '"x"+"a"+0=1.50', '"x"+"a"+1=null', '"x"+"a"+2=true', '"x"+"b%20~"="%C3%A9%2F"')
"""Pairs of the canonical form of the hint below, in order."""


def _build_table_with_digest(canonical: str, digest: Any = hashlib.md5) -> TableFiles:
    """Build a hint whose checksum is the digest of this canonical form."""
    files = log_only.build_table_with_hint()
    checksum = digest(canonical.encode()).hexdigest()
    files.last_checkpoint = (
        '{"version":1,"size":4,"x":{"b ~":"\u00e9/","a":[1.50,null,true]},' + f'"checksum":"{checksum}"}}'
    )
    return files


def _replace_in_canonical(old: str, new: str) -> str:
    canonical = ",".join(_LEAVES)
    assert old in canonical
    return canonical.replace(old, new)


_FORMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "hint_number_written_anew": ("canonical-leaves", (_replace_in_canonical("1.50", "1.5"),)),
    "hint_literal_in_quotes": (
        "canonical-leaves",
        (_replace_in_canonical("null", '"null"'), _replace_in_canonical("true", '"true"')),
    ),
    "hint_text_without_quotes": ("canonical-leaves", (_replace_in_canonical('"%C3%A9%2F"', "%C3%A9%2F"),)),
    "hint_path_with_points": ("canonical-paths", (_replace_in_canonical("+", "."),)),
    "hint_pairs_with_colons": ("canonical-paths", (_replace_in_canonical("=", ":"),)),
    "hint_pairs_apart_by_semicolons": ("canonical-paths", (_replace_in_canonical(",", ";"),)),
    "hint_index_in_quotes": ("canonical-paths", (_replace_in_canonical("+0=", '+"0"='),)),
    "hint_index_from_one": (
        "canonical-paths",
        (_replace_in_canonical("+2=true", "+3=true").replace("+1=null", "+2=null").replace("+0=", "+1="),),
    ),
    "hint_key_not_encoded": ("canonical-paths", (_replace_in_canonical("b%20~", "b ~"),)),
    "hint_checksum_summed_as_well": ("canonical-paths", ('"checksum"="",' + ",".join(_LEAVES),)),
    "hint_pairs_as_written": ("canonical-order", (",".join((_LEAVES[1], _LEAVES[0], *_LEAVES[2:])),)),
    "hint_escapes_in_lower_case": ("percent-encoding", (_replace_in_canonical("%C3%A9%2F", "%c3%a9%2f"),)),
    "hint_tilde_escaped": ("percent-encoding", (_replace_in_canonical("~", "%7E"),)),
    "hint_slash_not_escaped": ("percent-encoding", (_replace_in_canonical("%2F", "/"),)),
    "hint_space_as_plus": ("percent-encoding", (_replace_in_canonical("%20", "+"),)),
    "hint_octets_of_latin_1": ("percent-encoding", (_replace_in_canonical("%C3%A9", "%E9"),)),
}
"""Requirement and wrong canonical forms of one hint by name."""


def _make_breaker(forms: tuple[str, ...]) -> Any:
    return lambda draw: _build_table_with_digest(draw_one(draw, *forms))


for _name, (_requirement, _forms) in _FORMS.items():
    PLANTED_FAULTS[_name] = PlantedFault(_name, f"last-checkpoint.{_requirement}", _make_breaker(_forms))


@planted_fault("last-checkpoint.digest")
def hint_digest_of_another_kind(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_digest(",".join(_LEAVES), draw_one(draw, hashlib.sha1, hashlib.sha256))


@planted_fault("last-checkpoint.canonical-sample")
def hint_with_checksum_of_the_sample(draw: st.DrawFn) -> TableFiles:
    """The protocol's sample with the two required fields added, but with its original checksum."""
    files = log_only.build_table_with_hint()
    files.last_checkpoint = (
        '{"k0":"\'v 0\'","checksum":"6a92d155a59bf2eecbd4b4ec7fd1f875","version":1,"size":4,'
        '"k1":{"k2":2,"k3":["v3",[1,2],{"k4":"v4","k5":["v5","v6","v7"]}]}}'
    )
    return files


@planted_fault("last-checkpoint.canonical-order")
def hint_of_sorted_pairs(draw: st.DrawFn) -> TableFiles:
    """An array of eleven elements: sorted by path, element 1 comes before 10; sorted by pair, after it."""
    pairs = ['"size"=4', '"version"=1', '"x"+0=0', '"x"+10=10', *(f'"x"+{n}={n}' for n in range(1, 10))]
    checksum = hashlib.md5(",".join(pairs).encode()).hexdigest()
    return _build_table_with_hint_body({"version": 1, "size": 4, "x": [*range(11)], "checksum": checksum})


def _build_table_with_hint_body(body: dict[str, Any]) -> TableFiles:
    files = log_only.build_table_with_hint()
    files.last_checkpoint = body
    return files
