//! Read golden tables with delta_kernel: `read_golden golden-tables [CASE]...` prints a line for each.

use std::{env, error::Error, fs::File, path::Path, process, sync::Arc};

use delta_kernel::arrow::{
    array::RecordBatch, error::ArrowError, util::display::ArrayFormatter,
    util::display::FormatOptions,
};
use delta_kernel::engine::arrow_data::EngineDataArrowExt;
use delta_kernel::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use delta_kernel::{KernelResult, Snapshot, object_store::local::LocalFileSystem};
use delta_kernel_default_engine::DefaultEngineBuilder;
use serde_json::Value;

type Rows = Result<Vec<String>, Box<dyn Error>>;

/// Rows of the newest version. The kernel applies deletion vectors, column mapping and partition values.
fn read_table(folder: &Path) -> Rows {
    let url = url::Url::from_directory_path(folder.canonicalize()?).map_err(|()| "not a path")?;
    let engine = Arc::new(DefaultEngineBuilder::new(Arc::new(LocalFileSystem::new())).build());
    let scan = Snapshot::builder_for(url)
        .build(engine.as_ref())?
        .scan_builder()
        .build()?;
    let batches = scan
        .execute(engine)?
        .map(|data| data?.try_into_record_batch())
        .collect::<KernelResult<Vec<_>>>()?;
    write_rows(&batches)
}

fn read_expected(file: &Path) -> Rows {
    write_rows(
        &ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?
            .build()?
            .collect::<Result<Vec<_>, _>>()?,
    )
}

/// Rows as sorted text, because they come in no order.
fn write_rows(batches: &[RecordBatch]) -> Rows {
    let (options, mut rows) = (FormatOptions::new().with_null("NULL"), vec![]);
    for batch in batches {
        let columns = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, ArrowError>>()?;
        let schema = batch.schema();
        for row in 0..batch.num_rows() {
            let cells = schema.fields().iter().zip(&columns);
            rows.push(
                cells
                    .map(|(field, column)| format!("{}={} ", field.name(), column.value(row)))
                    .collect(),
            );
        }
    }
    rows.sort();
    Ok(rows)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let root = Path::new(
        arguments
            .first()
            .ok_or("name the folder of the golden tables")?,
    );
    let list = ["index.json", "manifest.json"]
        .map(|name| root.join(name))
        .into_iter()
        .find(|path| path.exists());
    let manifest: Value = serde_json::from_reader(File::open(list.ok_or("no list of cases")?)?)?;
    let (mut asked, mut wrong) = (0, 0);
    for entry in manifest["cases"].as_array().ok_or("no cases")? {
        let (id, folder) = (
            entry["id"].as_str().unwrap_or(""),
            root.join(entry["path"].as_str().unwrap_or("")),
        );
        let case: Value = serde_json::from_reader(File::open(folder.join("case.json"))?)?;
        let (kind, rows) = (
            case["expect"]["kind"].as_str().unwrap_or(""),
            case["expect"]["rows"].as_str(),
        );
        let is_bound = case["portability"]
            .as_array()
            .is_some_and(|found| found.contains(&"absolute-paths".into()));
        if kind == "violation"
            || is_bound
            || arguments.len() > 1 && !arguments[1..].iter().any(|wanted| wanted == id)
        {
            continue; // a table that a reader may read or refuse, and one whose paths have to be replaced first
        }
        let outcome = match (read_table(&folder.join("delta")), kind, rows) {
            (Ok(found), "rows", Some(rows)) if found == read_expected(&folder.join(rows))? => {
                "ok".to_string()
            }
            (Ok(found), ..) => format!("read, but not as expected:\n{}", found.join("\n")),
            (Err(_), "refuse", _) => "ok".to_string(),
            (Err(error), ..) => format!("refused: {error}"),
        };
        (asked, wrong) = (asked + 1, wrong + usize::from(outcome != "ok"));
        println!("{id}: {outcome}");
    }
    process::exit(i32::from(wrong > 0 || asked == 0))
}
