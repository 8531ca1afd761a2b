//! State of a table: version, protocol, metadata, live files, transactions, domains.

use std::collections::HashMap;

use delta_kernel::arrow::array::{Array, AsArray, RecordBatch};
use delta_kernel::arrow::datatypes::{Int32Type, Int64Type};
use delta_kernel::engine::arrow_data::EngineDataArrowExt;
use delta_kernel::history_manager::{HistoryCommitType, latest_version_as_of};
use delta_kernel::snapshot::{Snapshot, SnapshotBuilder};
use delta_kernel::{Engine, KernelError, KernelResult, LogPath, SnapshotRef};
use serde_json::Value;
use url::Url;

use crate::errors::{Phase, Refusal};
use crate::messages::{At, Catalog, FileEntry, RatifiedCommit, SnapshotAnswer, SnapshotRequest, Wanted};

pub fn read_snapshot(engine: &dyn Engine, request: SnapshotRequest) -> Result<Value, Refusal> {
    let url = table_url(&request.table)?;
    load_snapshot(engine, &url, request.at.as_ref(), request.catalog.as_ref())
        .and_then(|snapshot| describe(engine, &snapshot, &request))
        .map_err(|error| Refusal::from_kernel(&error, Phase::Snapshot))
}

/// Return the URL of a local directory.
pub fn table_url(table: &str) -> Result<Url, Refusal> {
    Url::from_directory_path(table).map_err(|()| Refusal::invalid_request(format!("{table:?} is not an absolute path")))
}

/// Load a version; a timestamp selects the newest version that is not younger.
pub fn load_snapshot(
    engine: &dyn Engine,
    url: &Url,
    at: Option<&At>,
    catalog: Option<&Catalog>,
) -> KernelResult<SnapshotRef> {
    let builder = || -> KernelResult<SnapshotBuilder> {
        let builder = Snapshot::builder_for(url);
        Ok(match catalog {
            None => builder,
            Some(known) => builder
                .with_log_tail(build_log_tail(engine, url, known)?)
                .with_max_catalog_version(known.latest_version),
        })
    };
    let version = match at {
        None => return builder()?.build(engine),
        Some(At::Version(version)) => *version,
        Some(At::TimestampMs(timestamp)) => {
            let newest = builder()?.build(engine)?;
            latest_version_as_of(&newest, engine, *timestamp, HistoryCommitType::Recreatable)?.version
        }
    };
    builder()?.at_version(version).build(engine)
}

/// Return the paths of the staged commits that the catalog names.
fn build_log_tail(engine: &dyn Engine, url: &Url, known: &Catalog) -> KernelResult<Vec<LogPath>> {
    let path = |commit: &RatifiedCommit| {
        let file = engine.storage_handler().head(&LogPath::staged_commit_url(url.clone(), &commit.staged)?)?;
        LogPath::staged_commit(url.clone(), &commit.staged, file.last_modified, file.size)
    };
    known.commits.iter().map(path).collect()
}

fn describe(engine: &dyn Engine, snapshot: &SnapshotRef, request: &SnapshotRequest) -> KernelResult<Value> {
    let wanted = |part| request.want.contains(&part);
    let answer = SnapshotAnswer {
        version: snapshot.version(),
        timestamp_ms: known_timestamp(snapshot.get_timestamp(engine))?,
        in_commit_timestamp: known_timestamp(snapshot.get_in_commit_timestamp(engine))?.flatten(),
        protocol: snapshot.table_configuration().protocol(),
        metadata: snapshot.table_configuration().metadata(),
        files: wanted(Wanted::Files).then(|| list_files(engine, snapshot)).transpose()?,
        transactions: wanted(Wanted::Transactions)
            .then(|| read_transactions(engine, snapshot, &request.app_ids))
            .transpose()?,
        domains: wanted(Wanted::Domains).then(|| read_domains(engine, snapshot)).transpose()?,
    };
    Ok(serde_json::to_value(answer)?)
}

/// Return no timestamp where the commit file was cleaned up and only a checkpoint has the version.
fn known_timestamp<T>(timestamp: KernelResult<T>) -> KernelResult<Option<T>> {
    match timestamp {
        Err(KernelError::MissingVersion(_)) => Ok(None),
        other => other.map(Some),
    }
}

fn list_files(engine: &dyn Engine, snapshot: &SnapshotRef) -> KernelResult<Vec<FileEntry>> {
    let mut files = vec![];
    for batch in snapshot.clone().scan_builder().build()?.scan_metadata(engine)? {
        let rows = batch?.scan_files.apply_selection_vector()?.try_into_record_batch()?;
        files.extend(read_file_entries(&rows)?);
    }
    Ok(files)
}

/// Return the files of a batch with the columns of `scan_row_schema`.
fn read_file_entries(rows: &RecordBatch) -> KernelResult<Vec<FileEntry>> {
    let column = |name: &str| rows.column_by_name(name).ok_or_else(|| KernelError::missing_column(name));
    let paths = column("path")?.as_string::<i32>();
    let sizes = column("size")?.as_primitive::<Int64Type>();
    let vectors = column("deletionVector")?.as_struct();
    let part = |name: &str| vectors.column_by_name(name).ok_or_else(|| KernelError::missing_column(name));
    let storage_types = part("storageType")?.as_string::<i32>();
    let texts = part("pathOrInlineDv")?.as_string::<i32>();
    let offsets = part("offset")?.as_primitive::<Int32Type>();
    let vector_id = |row| {
        let offset = offsets.is_valid(row).then(|| format!("@{}", offsets.value(row)));
        format!("{}{}{}", storage_types.value(row), texts.value(row), offset.unwrap_or_default())
    };
    let entry = |row| FileEntry {
        path: paths.value(row).to_string(),
        size: sizes.value(row),
        deletion_vector_id: vectors.is_valid(row).then(|| vector_id(row)),
    };
    Ok((0..rows.num_rows()).map(entry).collect())
}

fn read_transactions(
    engine: &dyn Engine,
    snapshot: &SnapshotRef,
    app_ids: &[String],
) -> KernelResult<HashMap<String, i64>> {
    let read = |id: &String| Ok(snapshot.get_app_id_version(id, engine)?.map(|version| (id.clone(), version)));
    app_ids.iter().filter_map(|id| read(id).transpose()).collect()
}

/// Return all domains, including those of the system (`delta.*`), which the public interface hides.
fn read_domains(engine: &dyn Engine, snapshot: &SnapshotRef) -> KernelResult<HashMap<String, String>> {
    let domains = snapshot.get_domain_metadatas_internal(engine, None)?;
    Ok(domains.into_iter().map(|(name, domain)| (name, domain.configuration().to_string())).collect())
}
