//! Rows and changed rows of a table, written as Arrow IPC files.

use std::fs::File;
use std::sync::Arc;

use delta_kernel::arrow::array::{RecordBatch, RecordBatchOptions};
use delta_kernel::arrow::datatypes::Schema;
use delta_kernel::arrow::ipc::writer::FileWriter;
use delta_kernel::engine::arrow_conversion::TryIntoArrow;
use delta_kernel::engine::arrow_data::EngineDataArrowExt;
use delta_kernel::expressions::PredicateRef;
use delta_kernel::scan::Scan;
use delta_kernel::table_changes::TableChanges;
use delta_kernel::{Engine, EngineData, KernelResult};
use serde_json::Value;

use crate::errors::{Phase, Refusal};
use crate::messages::{ChangesRequest, RowsAnswer, ScanRequest};
use crate::predicates::parse_predicate;
use crate::projection::Projection;
use crate::state::{load_snapshot, table_url};

const CHANGE_COLUMNS: [&str; 3] = ["_change_type", "_commit_version", "_commit_timestamp"];

pub fn scan(engine: Arc<dyn Engine>, request: ScanRequest) -> Result<RowsAnswer, Refusal> {
    let url = table_url(&request.table)?;
    let predicate = read_predicate(request.predicate_tree.as_ref())?;
    let snapshot = load_snapshot(engine.as_ref(), &url, request.at.as_ref(), request.catalog.as_ref())
        .map_err(|error| Refusal::from_kernel(&error, Phase::Snapshot))?;
    let projection = Projection::new(&snapshot.schema(), request.columns.as_deref(), request.row_ids)?;
    let run = || {
        let scan = snapshot
            .clone()
            .scan_builder()
            .with_schema(projection.read_schema.clone())
            .with_predicate(predicate.clone())
            .build()?;
        let num_rows = write_rows(&engine, scan.execute(engine.clone())?, &projection, &request.out)?;
        let files_read = count_files(engine.as_ref(), &scan)?;
        let all_files = match predicate {
            None => files_read,
            Some(_) => count_files(engine.as_ref(), &snapshot.clone().scan_builder().build()?)?,
        };
        Ok(RowsAnswer {
            path: request.out.clone(),
            num_rows,
            files_read: Some(files_read),
            files_skipped: Some(all_files - files_read),
        })
    };
    run().map_err(|error| Refusal::from_kernel(&error, Phase::Scan))
}

pub fn read_changes(engine: Arc<dyn Engine>, request: ChangesRequest) -> Result<RowsAnswer, Refusal> {
    let url = table_url(&request.table)?;
    let predicate = read_predicate(request.predicate_tree.as_ref())?;
    let changes = TableChanges::try_new(url, engine.as_ref(), request.start, request.end)
        .map_err(|error| Refusal::from_kernel(&error, Phase::Changes))?;
    let columns = request.columns.map(|columns| {
        columns.into_iter().chain(CHANGE_COLUMNS.map(|name| vec![name.to_string()])).collect::<Vec<_>>()
    });
    let projection = Projection::new(changes.schema(), columns.as_deref(), false)?;
    let run = || {
        let scan = changes
            .into_scan_builder()
            .with_schema(projection.read_schema.clone())
            .with_predicate(predicate)
            .build()?;
        let num_rows = write_rows(&engine, scan.execute(engine.clone())?, &projection, &request.out)?;
        Ok(RowsAnswer { path: request.out.clone(), num_rows, files_read: None, files_skipped: None })
    };
    run().map_err(|error| Refusal::from_kernel(&error, Phase::Changes))
}

fn read_predicate(tree: Option<&Value>) -> Result<Option<PredicateRef>, Refusal> {
    Ok(tree.map(parse_predicate).transpose()?.map(Arc::new))
}

/// Count the files that a scan reads; log replay skips the others by partition values and statistics.
fn count_files(engine: &dyn Engine, scan: &Scan) -> KernelResult<usize> {
    let mut count = 0;
    for batch in scan.scan_metadata(engine)? {
        count = batch?.visit_scan_files(count, |count, _| *count += 1)?;
    }
    Ok(count)
}

/// Write all batches to a file; return the number of rows.
fn write_rows(
    engine: &Arc<dyn Engine>,
    batches: impl Iterator<Item = KernelResult<Box<dyn EngineData>>>,
    projection: &Projection,
    out: &str,
) -> KernelResult<usize> {
    let schema: Arc<Schema> = Arc::new(projection.answer_schema.as_ref().try_into_arrow()?);
    let mut writer = FileWriter::try_new(File::create(out)?, &schema)?;
    let mut num_rows = 0;
    for batch in batches {
        let batch = projection.select(engine.as_ref(), batch?)?.try_into_record_batch()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows())).with_match_field_names(false);
        let batch = RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)?;
        num_rows += batch.num_rows();
        writer.write(&batch)?;
    }
    writer.finish()?;
    Ok(num_rows)
}
