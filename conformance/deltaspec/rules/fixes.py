"""Fixes that several rules share, and fixes with several cases.

Each case is an action that a data engineer can take and loses no data, or says which rows are lost.
"""

from deltaspec.fix_cases import Fix, FixCase
from deltaspec.rules.fix_texts import RESTORE, RESTORE_IF_LOADABLE, REWRITE_CHECKPOINT_BY_HAND

_IF_NO_VERSION_HAS_IDS = "If no version has the right ids, copy the rows to a new table, or disable the compatibility."
RESTORE_VERSION: Fix = (FixCase(fix_class="restore", text=RESTORE),)
RESTORE_VERSION_AND_MAPPING: Fix = (
    FixCase(
        fix_class="restore",
        text=f"{RESTORE} If column mapping was enabled in that commit, enable it again with `ALTER TABLE t SET "
        "TBLPROPERTIES` in Delta Spark.",
    ),
)
RESTORE_VERSION_AND_COLUMN: Fix = (
    FixCase(
        fix_class="restore",
        text=f"{RESTORE} Then add the column with `ALTER TABLE t ADD COLUMN`, which generates a new physical name.",
    ),
)
RESTORE_VERSION_NOT_NULLS: Fix = (
    FixCase(
        fix_class="restore",
        text=f"{RESTORE} Do not rewrite the rows through a reader that returns null for the column.",
    ),
)
RESTORE_ICEBERG_IDS: Fix = (FixCase(fix_class="restore", text=f"{RESTORE} {_IF_NO_VERSION_HAS_IDS}"),)
LIST_FEATURE: Fix = (
    FixCase(
        fix_class="repair",
        text="Clients that do not support the feature then refuse the table instead of misreading it. Then check what "
        "was written in between: rows against constraints, row ids, and domains.",
    ),
)
LIST_DELETION_VECTORS: Fix = (
    FixCase(
        fix_class="repair",
        text="Readers that do not support deletion vectors then refuse the table instead of returning deleted rows.",
    ),
)
RAISE_ROW_ID_MARK: Fix = (
    FixCase(
        fix_class="repair",
        text="Stop writers until then: the next commit would assign row ids again that rows already have. Do not edit "
        "the high-water mark in a commit file.",
    ),
)
RESTORE_LOADABLE_TABLE: Fix = (FixCase(fix_class="restore", text=RESTORE_IF_LOADABLE),)
RESTORE_REPLACED_CONTENT: Fix = (
    FixCase(
        fix_class="restore",
        text="Run `RESTORE TABLE t TO VERSION AS OF n` with the version before, and write the replaced content to a new "
        "table.",
    ),
)
WRITE_PROTOCOL: Fix = (
    FixCase(
        fix_class="restore",
        text="If an engine can still load the table, write a correct protocol action with it, for example by adding a "
        "feature that it supports. Otherwise restore the log from backup. `RESTORE` does not replace the protocol by "
        "default.",
    ),
)
RESTORE_CLUSTERING_OR_DOMAIN: Fix = (
    FixCase(
        fix_class="restore",
        text=f"Stop writers. {RESTORE} The writer must write the configuration that the feature prescribes.",
    ),
)
WRITE_KEYS_ONCE: Fix = (
    FixCase(
        fix_class="restore",
        text=f"{RESTORE} If no engine can load the table, restore the log from backup. The writer must write each key "
        "once.",
    ),
)
RESTORE_PARTITION_COLUMNS: Fix = (
    FixCase(
        fix_class="restore",
        text="Run `RESTORE TABLE t TO VERSION AS OF n` with the last legal version. To partition the table by other "
        "columns, overwrite all of its rows with the `overwriteSchema` option.",
    ),
)
RESTORE_TYPE_CHANGES: Fix = (
    FixCase(
        fix_class="restore",
        condition="an older version has a correct record",
        text="Run `RESTORE TABLE t TO VERSION AS OF n` and repeat later changes.",
    ),
    FixCase(
        fix_class="rewrite",
        condition="no older version has one",
        text="Rewrite older files with an engine that reads their values correctly, then run `ALTER TABLE t DROP "
        "FEATURE typeWidening`.",
    ),
)
REWRITE_CHECKPOINT: Fix = (
    FixCase(
        fix_class="repair",
        condition="older commits, or an older checkpoint and the commits after it, can replay the table without this "
        "checkpoint",
        by_hand=REWRITE_CHECKPOINT_BY_HAND,
    ),
    FixCase(
        fix_class="restore",
        condition="they cannot",
        text="Keep the checkpoint and restore the missing commits from backup.",
    ),
)
REWRITE_CHECKPOINT_BEFORE_VACUUM: Fix = (
    *REWRITE_CHECKPOINT[:1],
    FixCase(
        fix_class="restore",
        condition="they cannot",
        text="Keep the checkpoint and restore the missing commits from backup. Do not run `VACUUM` before that.",
    ),
)
STOP_WRITERS_AND_REWRITE_CHECKPOINT: Fix = (
    *REWRITE_CHECKPOINT[:1],
    FixCase(
        fix_class="restore",
        condition="they cannot",
        text="Keep the checkpoint and restore the missing commits from backup. Stop writers until then.",
    ),
)
REWRITE_CHECKPOINT_NEVER_RENAME: Fix = (
    *REWRITE_CHECKPOINT[:1],
    FixCase(
        fix_class="restore",
        condition="they cannot",
        text="Keep the checkpoint and restore the missing commits from backup. Do not rename the file: its content may "
        "belong to neither version.",
    ),
)
REWRITE_CHECKPOINT_OR_ADD_V2: Fix = (
    *REWRITE_CHECKPOINT,
    FixCase(
        fix_class="decide",
        condition="the table shall have V2 checkpoints",
        text="Run `ALTER TABLE t SET TBLPROPERTIES ('delta.feature.v2Checkpoint' = 'supported')`.",
    ),
)
REWRITE_CHECKPOINT_AFTER_COMMIT: Fix = (
    FixCase(
        fix_class="restore",
        condition="FIL037 names the same file",
        text="First repair its commit: until then the readers of the checkpoint may be those with the right rows.",
    ),
    *REWRITE_CHECKPOINT_BEFORE_VACUUM,
)
RESTORE_SIDECAR: Fix = (
    FixCase(fix_class="restore", condition="a backup has the sidecar", text="Restore it."),
    FixCase(
        fix_class="repair",
        condition="older commits, or an older checkpoint and the commits after it, can replay the table without this "
        "checkpoint",
        by_hand=REWRITE_CHECKPOINT_BY_HAND,
    ),
)
DELETE_HINT: Fix = (
    FixCase(
        fix_class="repair",
        by_hand="Delete `_last_checkpoint`. Readers then list the log, and the next checkpoint writes the file again.",
    ),
)
DELETE_HINT_IF_NO_CHECKPOINT_WAS_LOST: Fix = (
    FixCase(fix_class="restore", condition="a checkpoint file was lost", text="Restore it from backup."),
    FixCase(
        fix_class="repair",
        condition="none was lost",
        by_hand="Delete `_last_checkpoint`: readers then list the log, and the next checkpoint writes the file again.",
    ),
)
KEEP_HINT: Fix = (
    FixCase(
        fix_class="none",
        text="No repair is needed if the checkpoint is readable; the next checkpoint writes the file again.",
    ),
)
DELETE_COMPACTION: Fix = (
    FixCase(
        fix_class="repair",
        by_hand="Delete the compaction file; compactions are optional and the commits have the complete history.",
    ),
)
DELETE_COMPACTION_IF_READERS_FAIL: Fix = (
    FixCase(
        fix_class="decide",
        text="If a reader fails on it, delete the compaction file: the commits have the complete history. Otherwise leave it.",
    ),
)
DELETE_COMPACTION_OR_RESTORE: Fix = (
    FixCase(fix_class="restore", condition="the missing commits existed", text="Restore them from backup."),
    FixCase(
        fix_class="repair",
        condition="they never existed",
        by_hand="Delete the compaction file; compactions are optional and the commits have the complete history.",
    ),
)
DELETE_DERIVED_FILE: Fix = (
    FixCase(
        fix_class="repair",
        condition="the file is a compaction",
        evidence="source",
        value="compaction",
        by_hand="Delete it; compactions are optional.",
    ),
    FixCase(
        fix_class="repair",
        condition="the file is a checkpoint",
        evidence="source",
        value="checkpoint",
        by_hand=REWRITE_CHECKPOINT_BY_HAND,
    ),
)
REWRITE_DERIVED_FILE_OR_FIX_WRITER: Fix = (
    FixCase(
        fix_class="none",
        condition="the file is a commit",
        evidence="source",
        value="commit",
        text="The data file is removed in any case. Fix the writer.",
    ),
    FixCase(
        fix_class="decide",
        condition="the file is a compaction",
        evidence="source",
        value="compaction",
        text="Delete it; compactions are optional.",
    ),
    FixCase(
        fix_class="rewrite",
        condition="the file is a checkpoint",
        evidence="source",
        value="checkpoint",
        text=REWRITE_CHECKPOINT_BY_HAND,
    ),
)
REWRITE_DERIVED_FILE_OR_RESTORE: Fix = (
    FixCase(fix_class="restore", condition="the file is a commit", evidence="source", value="commit", text=RESTORE),
    *DELETE_DERIVED_FILE,
)
DELETE_CHECKSUM: Fix = (
    FixCase(
        fix_class="repair",
        by_hand="Delete the `.crc` file; version checksums are optional. Upgrade the writer if the next checksum has the "
        "same defect.",
    ),
)
DELETE_CHECKSUM_OR_RESTORE: Fix = (
    FixCase(
        fix_class="restore",
        condition="the missing commit existed",
        text="Restore it from backup; unreferenced data files can be a trace of it.",
    ),
    FixCase(fix_class="repair", condition="it never existed", by_hand="Delete the `.crc` file."),
)
CHECK_HISTORY_BEFORE_CHECKSUM: Fix = (
    FixCase(
        fix_class="repair",
        condition="`deltaspec validate t --history all` reports no other violation",
        by_hand="Delete the `.crc` file.",
    ),
    FixCase(
        fix_class="restore",
        condition="log or data files are missing",
        text="Restore them from backup. Keep the checksum until you know which is wrong.",
    ),
)
ASSIGN_ROW_IDS_AGAIN: Fix = (
    FixCase(
        fix_class="rewrite",
        text="Write the affected rows again with an engine that supports row tracking, so that they get new ids. Reload "
        "consumers that followed the wrong ids. Do not edit baseRowId or the high-water mark by hand.",
    ),
)
RELOAD_CHANGE_DATA: Fix = (
    FixCase(
        fix_class="rewrite",
        text="The committed change data cannot be corrected. Reload downstream consumers from a snapshot, and read the "
        "feed from the next version on.",
    ),
)
RAISE_MAX_COLUMN_ID: Fix = (
    FixCase(
        fix_class="repair",
        text="Do not add columns until then. Delta Spark refuses to set `delta.columnMapping.maxColumnId`, so the only "
        "other way is to restore the version before.",
    ),
)
SYNC_OR_CHOOSE: Fix = (
    FixCase(
        fix_class="decide",
        text="Run `ALTER TABLE t ALTER COLUMN c SYNC IDENTITY` in Delta Spark before the next write, or add another "
        "identity column with the sequence that you want.",
    ),
)
RESTORE_MAX_COLUMN_ID: Fix = (
    FixCase(
        fix_class="restore",
        text="Restore the version before, and do not add columns until then. Delta Spark refuses to set "
        "`delta.columnMapping.maxColumnId`.",
    ),
)
SET_VALID_PROPERTY: Fix = (
    FixCase(
        fix_class="decide",
        text="Run `ALTER TABLE t SET TBLPROPERTIES` with a valid value, or `ALTER TABLE t UNSET TBLPROPERTIES` for the "
        "default. If the engine cannot load the table because of the value, restore the log from backup.",
    ),
)
COMPARE_ROWS_ADDED: Fix = (
    FixCase(
        fix_class="restore",
        condition="rows are doubled, as a comparison with the version before shows (`VERSION AS OF`)",
        text="Run `RESTORE TABLE t "
        "TO VERSION AS OF n` with the version before the commit, then repeat later changes with a corrected writer.",
    ),
    FixCase(
        fix_class="decide",
        condition="the rows are new",
        text="Reload consumers from a snapshot. The writer must set dataChange true when rows are added.",
    ),
)
COMPARE_ROWS_REMOVED: Fix = (
    FixCase(
        fix_class="restore",
        condition="the rows were not deleted on purpose",
        text=RESTORE,
    ),
    FixCase(
        fix_class="decide",
        condition="they were",
        text="Reload consumers from a snapshot. The writer must set dataChange true when rows are removed.",
    ),
)
COMPARE_ROWS_CHANGED: Fix = (
    FixCase(
        fix_class="restore",
        condition="rows are damaged, as a comparison with the version before shows (`VERSION AS OF`)",
        text="Run `RESTORE TABLE t "
        "TO VERSION AS OF n` with the version before the commit, then repeat later changes with a corrected writer.",
    ),
    FixCase(
        fix_class="decide",
        condition="they were changed on purpose",
        text="Reload consumers from a snapshot. The writer must set dataChange true when rows change.",
    ),
)
RESTORE_NESTED_IDS: Fix = (
    FixCase(
        fix_class="restore",
        condition="ids occur twice",
        evidence="duplicate_ids",
        text=f"{RESTORE} {_IF_NO_VERSION_HAS_IDS} `REORG TABLE t APPLY (UPGRADE UNIFORM ...)` keeps an id that occurs "
        "twice.",
    ),
    FixCase(
        fix_class="restore",
        condition="ids are out of range",
        evidence="out_of_range_ids",
        text=f"{RESTORE} {_IF_NO_VERSION_HAS_IDS}",
    ),
    FixCase(
        fix_class="restore",
        condition="ids are missing",
        evidence="missing_ids",
        text=f"{RESTORE} {_IF_NO_VERSION_HAS_IDS} `REORG TABLE t APPLY (UPGRADE UNIFORM ...)` assigns new ids, but keeps "
        "files that were written under the compatibility with other ids (ICE023).",
    ),
)
DISABLE_COMPATIBILITY: Fix = (
    FixCase(
        fix_class="decide",
        text="Disable the compatibility, or copy the rows to a new table. Delta Spark refuses `REORG TABLE t APPLY (UPGRADE "
        "UNIFORM ...)` for such a type change.",
    ),
)
DELETE_HINT_IF_READERS_FAIL: Fix = (
    FixCase(
        fix_class="decide",
        text="If a reader fails on it, delete `_last_checkpoint`. Readers then list the log, and the next checkpoint "
        "writes the file again. Otherwise leave it.",
    ),
)
DELETE_CHECKSUM_IF_READERS_FAIL: Fix = (
    FixCase(
        fix_class="decide",
        text="If a reader fails on it, delete the `.crc` file; version checksums are optional. Otherwise leave it. Upgrade "
        "the writer if the next checksum has the same defect.",
    ),
)
WRITE_NEW_CHECKPOINT: Fix = (
    FixCase(
        fix_class="rewrite",
        text="Write a new checkpoint with a corrected writer. The current checkpoint can stay if your readers accept it.",
    ),
)
UNSET_PROPERTY_OR_RESTORE_LOG: Fix = (
    FixCase(
        fix_class="decide",
        condition="the engine loads the table",
        text="Unset the property with `ALTER TABLE t UNSET TBLPROPERTIES`. If the table needs the feature, set the "
        "property again: Delta Spark then adds the feature, which can lock out older clients. With in-commit timestamps, "
        "Delta Spark reports DELTA_MISSING_COMMIT_TIMESTAMP once, after it has committed.",
    ),
    FixCase(
        fix_class="restore",
        condition="it refuses the table, as Delta Spark does from writer version 7",
        text="Restore the log from a backup of the last version without the property, then repeat later changes with a "
        "corrected writer. `ALTER TABLE` and `RESTORE TABLE` fail as well.",
    ),
)
