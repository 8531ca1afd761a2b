//! Requests and answers of the candidate protocol (`deltaspec/candidates/messages.py`).

use std::collections::HashMap;

use delta_kernel::actions::{Metadata, Protocol};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    Version(u64),
    TimestampMs(i64),
}

/// What the catalog of a table knows.
#[derive(Deserialize)]
pub struct Catalog {
    pub latest_version: u64,
    #[serde(default)]
    pub commits: Vec<RatifiedCommit>,
}

/// A ratified commit; the host gives no content, because the harness does not declare inline commits.
#[derive(Deserialize)]
pub struct RatifiedCommit {
    pub staged: String,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    Files,
    Transactions,
    Domains,
}

#[derive(Deserialize)]
pub struct SnapshotRequest {
    pub table: String,
    pub at: Option<At>,
    #[serde(default)]
    pub want: Vec<Wanted>,
    #[serde(default)]
    pub app_ids: Vec<String>,
    pub catalog: Option<Catalog>,
}

#[derive(Deserialize)]
pub struct ScanRequest {
    pub table: String,
    pub out: String,
    pub at: Option<At>,
    pub columns: Option<Vec<Vec<String>>>,
    pub predicate_tree: Option<Value>,
    #[serde(default)]
    pub row_ids: bool,
    pub catalog: Option<Catalog>,
}

#[derive(Deserialize)]
pub struct ChangesRequest {
    pub table: String,
    pub out: String,
    pub start: u64,
    pub end: Option<u64>,
    pub columns: Option<Vec<Vec<String>>>,
    pub predicate_tree: Option<Value>,
}

#[derive(Deserialize)]
pub struct ApplyRequest {
    pub table: String,
    pub operation: Operation,
    pub commit: Option<Commit>,
    pub catalog: Option<Catalog>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Operation {
    Create {
        schema: String,
        #[serde(default)]
        partition_by: Vec<String>,
        #[serde(default)]
        properties: HashMap<String, String>,
        rows: Option<String>,
    },
    Append {
        rows: String,
    },
    Delete {
        r#where: Option<Where>,
    },
    Checkpoint {
        form: Option<String>,
    },
    Checksum {},
    Publish {},
    AddColumn {
        name: Value,
        r#type: String,
        #[serde(default = "yes")]
        nullable: bool,
        after: Option<Value>,
    },
    #[serde(other)]
    Unknown,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
pub struct Where {
    pub tree: Value,
}

#[derive(Default, Deserialize)]
pub struct Commit {
    pub txn: Option<Txn>,
    #[serde(default)]
    pub domains: HashMap<String, Option<String>>,
    pub user_metadata: Option<String>,
}

#[derive(Deserialize)]
pub struct Txn {
    pub app_id: String,
    pub version: i64,
}

#[derive(Serialize)]
pub struct ApplyAnswer {
    pub committed: bool,
    pub version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged: Option<String>,
}

impl ApplyAnswer {
    pub fn committed(version: u64) -> Self {
        Self { committed: true, version: Some(version), staged: None }
    }

    pub fn staged(version: u64, name: String) -> Self {
        Self { committed: false, version: Some(version), staged: Some(name) }
    }

    pub fn nothing() -> Self {
        Self { committed: false, version: None, staged: None }
    }
}

#[derive(Serialize)]
pub struct Capabilities {
    pub name: &'static str,
    pub version: &'static str,
    pub protocol: u32,
    pub language: &'static str,
    pub ops: &'static [&'static str],
    pub kinds: &'static [&'static str],
    pub want: &'static [&'static str],
    pub at: &'static [&'static str],
    pub row_ids: bool,
    pub predicate: &'static str,
    pub reader_features: Vec<String>,
    pub writer_features: Vec<String>,
    pub max_reader_version: i32,
    pub max_writer_version: i32,
    pub types_not_supported: &'static [&'static str],
    pub catalog: &'static [&'static str],
}

#[derive(Serialize)]
pub struct FileEntry {
    pub path: String,
    pub size: i64,
    pub deletion_vector_id: Option<String>,
}

#[derive(Serialize)]
pub struct SnapshotAnswer<'a> {
    pub version: u64,
    pub timestamp_ms: Option<i64>,
    pub in_commit_timestamp: Option<i64>,
    pub protocol: &'a Protocol,
    pub metadata: &'a Metadata,
    pub files: Option<Vec<FileEntry>>,
    pub transactions: Option<HashMap<String, i64>>,
    pub domains: Option<HashMap<String, String>>,
}

#[derive(Serialize)]
pub struct RowsAnswer {
    pub path: String,
    pub num_rows: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_read: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_skipped: Option<usize>,
}
