//! What the kernel supports.

use std::collections::HashMap;

use delta_kernel::KernelResult;
use delta_kernel::actions::{Metadata, Protocol};
use delta_kernel::table_configuration::TableConfiguration;
use delta_kernel::table_features::{MAX_VALID_READER_VERSION, MAX_VALID_WRITER_VERSION, Operation, TableFeature};
use serde_json::Value;
use strum::IntoEnumIterator;
use url::Url;

use crate::errors::Refusal;
use crate::messages::Capabilities;
use crate::writes::KINDS;

const PROTOCOL_VERSION: u32 = 1;

/// Pinned in Cargo.toml.
const KERNEL_VERSION: &str = "0.30.1";

pub fn describe(request: &Value) -> Result<Capabilities, Refusal> {
    let versions = request["protocol"].as_array();
    if !versions.is_some_and(|versions| versions.iter().any(|version| version == PROTOCOL_VERSION)) {
        return Err(Refusal::unsupported("protocol", "only version 1 of the candidate protocol is supported"));
    }
    Ok(Capabilities {
        name: "kernel_rust",
        version: KERNEL_VERSION,
        protocol: PROTOCOL_VERSION,
        language: "rust",
        ops: &["snapshot", "scan", "changes", "apply"],
        kinds: KINDS,
        want: &["files", "transactions", "domains"],
        at: &["version", "timestamp_ms"],
        row_ids: true,
        predicate: "prunes",
        reader_features: TableFeature::iter()
            .filter(|feature| check_supported(feature, Operation::Scan).is_ok())
            .map(|feature| feature.to_string())
            .collect(),
        writer_features: TableFeature::iter()
            .filter(|feature| check_supported(feature, Operation::Write).is_ok())
            .map(|feature| feature.to_string())
            .collect(),
        max_reader_version: MAX_VALID_READER_VERSION,
        max_writer_version: MAX_VALID_WRITER_VERSION,
        types_not_supported: &["geometry", "geography"],
        catalog: &["staged"], // `LogPath` names files only
    })
}

/// Ask the kernel whether it reads or writes a table with the feature. `catalogManaged` also needs in-commit timestamps.
fn check_supported(feature: &TableFeature, operation: Operation) -> KernelResult<()> {
    let managed = *feature == TableFeature::CatalogManaged;
    let build = |readers: Vec<TableFeature>| {
        let required = managed.then_some(TableFeature::InCommitTimestamp);
        let writers = Some([feature.clone()].into_iter().chain(required).collect::<Vec<_>>());
        Protocol::try_new(MAX_VALID_READER_VERSION, MAX_VALID_WRITER_VERSION, Some(readers), writers)
    };
    let protocol = match operation {
        Operation::Write => build(vec![feature.clone()]).or_else(|_| build(vec![]))?, // features of writers only
        _ => build(vec![feature.clone()])?,
    };
    let metadata = Metadata::from_parts(
        "table".to_string(),
        None,
        None,
        "parquet".to_string(),
        HashMap::new(),
        r#"{"type": "struct", "fields": []}"#.to_string(),
        vec![],
        None,
        managed.then(|| ("delta.enableInCommitTimestamps".to_string(), "true".to_string())).into_iter().collect(),
    );
    let table_root = Url::parse("file:///table/")?;
    TableConfiguration::try_new(metadata, protocol, table_root, 0)?.ensure_operation_supported(operation)
}
