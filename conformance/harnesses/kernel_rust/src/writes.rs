//! Operations of `apply`: create, append, delete with deletion vectors, checkpoint, checksum and add-column.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::sync::Arc;

use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use delta_kernel::actions::deletion_vector_writer::{KernelDeletionVector, StreamingDeletionVectorWriter};
use delta_kernel::arrow::array::{Array, AsArray, RecordBatch, StringArray, UInt32Array};
use delta_kernel::arrow::compute::{cast, concat_batches, take_record_batch};
use delta_kernel::arrow::datatypes::{DataType as ArrowType, Int64Type};
use delta_kernel::arrow::ipc::reader::FileReader;
use delta_kernel::checkpoint::{CheckpointSpec, V2CheckpointConfig};
use delta_kernel::committer::FileSystemCommitter;
use delta_kernel::engine::arrow_data::{ArrowEngineData, EngineDataArrowExt};
use delta_kernel::expressions::Scalar;
use delta_kernel::object_store::{ObjectStoreExt, path::Path};
use delta_kernel::scan::state::DvInfo;
use delta_kernel::schema::{DataType, MetadataColumnSpec, StructField, StructType, schema_ref};
use delta_kernel::transaction::create_table::create_table;
use delta_kernel::transaction::data_layout::DataLayout;
use delta_kernel::transaction::{
    BoundWriteContext, CommitResult, TransactionBuilder, TransactionType, UpdateTable, UpdateTableOperation,
};
use delta_kernel::{Engine, KernelError, KernelResult, SnapshotRef};
use delta_kernel_default_engine::DefaultEngine;
use delta_kernel_default_engine::executor::TaskExecutor;
use delta_kernel_default_engine::executor::tokio::TokioMultiThreadExecutor;
use serde_json::Value;

use crate::catalog::{StagingCommitter, choose_committer};
use crate::errors::{Phase, Refusal};
use crate::messages::{ApplyAnswer, ApplyRequest, Catalog, Commit, Operation};
use crate::predicates::parse_predicate;
use crate::state::{load_snapshot, table_url};

/// Kinds of operations that `apply` performs.
pub const KINDS: &[&str] = &["create", "append", "delete", "checkpoint", "checksum", "publish", "add-column"];

const ENGINE_INFO: &str = "deltaspec kernel_rust";
const ROW_INDEX: &str = "__deltaspec_row_index";
const FILE: &str = "__deltaspec_file";

/// An engine that can also write data files.
pub struct Writer {
    pub engine: Arc<DefaultEngine<TokioMultiThreadExecutor>>,
    pub executor: Arc<TokioMultiThreadExecutor>,
}

/// Perform an operation.
pub fn apply(writer: &Writer, request: ApplyRequest) -> Result<ApplyAnswer, Refusal> {
    let commit = request.commit.unwrap_or_default();
    let table = &Table { path: &request.table, catalog: request.catalog.as_ref() };
    match request.operation {
        Operation::Create { schema, partition_by, properties, rows } => {
            let version = create(writer, table.path, &schema, partition_by, properties, &commit)?;
            match rows {
                None => Ok(ApplyAnswer::committed(version)),
                Some(rows) => append(writer, table, &rows, &Commit::default()),
            }
        }
        Operation::Append { rows } => append(writer, table, &rows, &commit),
        Operation::Delete { r#where } => {
            let tree = r#where.map(|found| found.tree);
            delete(writer, table, tree.as_ref(), &commit)
        }
        Operation::Checkpoint { form } => {
            let spec = parse_form(form.as_deref())?;
            refuse_kernel(load(writer, table)?.checkpoint(writer.engine.as_ref(), spec.as_ref()))?;
            Ok(ApplyAnswer::nothing())
        }
        Operation::Checksum {} => {
            refuse_kernel(load(writer, table)?.write_checksum(writer.engine.as_ref()))?;
            Ok(ApplyAnswer::nothing())
        }
        Operation::Publish {} => {
            let committer = StagingCommitter::default();
            refuse_kernel(load(writer, table)?.publish(writer.engine.as_ref(), &committer))?;
            Ok(ApplyAnswer::nothing())
        }
        Operation::AddColumn { name, r#type, nullable, after } => {
            let field = parse_column(&name, r#type, nullable, after.as_ref())?;
            let builder = load(writer, table)?.update_table(UpdateTableOperation::AlterTable, ENGINE_INFO, false);
            commit_update(writer, table, change_facts(builder.add_column(field), &commit)?)
        }
        Operation::Unknown => Err(Refusal::unsupported("operation", "the kernel does not offer this kind")),
    }
}

/// A table that a request names.
struct Table<'a> {
    path: &'a str,
    /// What its catalog knows; none if the path is enough.
    catalog: Option<&'a Catalog>,
}

fn load(writer: &Writer, table: &Table) -> Result<SnapshotRef, Refusal> {
    load_snapshot(writer.engine.as_ref(), &table_url(table.path)?, None, table.catalog)
        .map_err(|error| Refusal::from_kernel(&error, Phase::Snapshot))
}

fn refuse_kernel<T>(result: KernelResult<T>) -> Result<T, Refusal> {
    result.map_err(|error| Refusal::from_kernel(&error, Phase::Commit))
}

fn create(
    writer: &Writer,
    table: &str,
    schema: &str,
    partition_by: Vec<String>,
    properties: HashMap<String, String>,
    commit: &Commit,
) -> Result<u64, Refusal> {
    let schema: StructType =
        serde_json::from_str(schema).map_err(|error| Refusal::invalid_request(error.to_string()))?;
    let mut builder = create_table(table_url(table)?, Arc::new(schema), ENGINE_INFO, true);
    builder = builder.with_table_properties(properties);
    if !partition_by.is_empty() {
        builder = builder.with_data_layout(DataLayout::partitioned(partition_by));
    }
    let builder = add_facts(builder, commit)?;
    let transaction = refuse_kernel(builder.build(writer.engine.as_ref(), Box::new(FileSystemCommitter::new())))?;
    read_version(transaction.commit(writer.engine.as_ref()))
}

/// Append the rows of an Arrow IPC file, one data file for each combination of partition values.
fn append(writer: &Writer, table: &Table, rows: &str, commit: &Commit) -> Result<ApplyAnswer, Refusal> {
    let snapshot = load(writer, table)?;
    let schema = snapshot.schema();
    let batch = refuse_kernel(read_rows(rows))?;
    let builder = snapshot.update_table(UpdateTableOperation::Write, ENGINE_INFO, true).with_blind_append();
    let engine = writer.engine.as_ref();
    let builder = change_facts(builder, commit)?;
    let (committer, answer) = choose_committer(table.catalog);
    let mut transaction = refuse_kernel(builder.build(engine, committer))?;
    let names = transaction.logical_partition_columns().to_vec();
    let state = refuse_kernel(transaction.write_state())?;
    for (values, part) in refuse_kernel(split_by_partition(&batch, &names, &schema))? {
        let builder = state.write_context_builder();
        let builder = if names.is_empty() { builder } else { builder.with_partition_values(values) };
        let context = refuse_kernel(builder.build())?;
        transaction.add_files(refuse_kernel(write_file(writer, part, context))?);
    }
    read_version(transaction.commit(engine)).map(|version| answer.committed(version))
}

fn read_rows(path: &str) -> KernelResult<RecordBatch> {
    let reader = FileReader::try_new(File::open(path)?, None)?;
    let schema = reader.schema();
    let batches: Vec<_> = reader.collect::<Result<_, _>>()?;
    Ok(concat_batches(&schema, &batches)?)
}

type Part = (HashMap<String, Scalar>, RecordBatch);

/// Group rows by the text of their partition values.
fn split_by_partition(batch: &RecordBatch, names: &[String], schema: &StructType) -> KernelResult<Vec<Part>> {
    let mut texts = vec![];
    for name in names {
        let column = batch.column_by_name(name).ok_or_else(|| KernelError::missing_column(name))?;
        texts.push(cast(column, &ArrowType::Utf8)?);
    }
    let mut groups: BTreeMap<Vec<Option<String>>, Vec<u32>> = BTreeMap::new();
    for row in 0..batch.num_rows() {
        let text =
            |column: &Arc<dyn Array>| column.is_valid(row).then(|| column.as_string::<i32>().value(row).to_string());
        groups.entry(texts.iter().map(text).collect()).or_default().push(row as u32);
    }
    let mut parts = vec![];
    for (key, rows) in groups {
        let mut values = HashMap::new();
        for (name, text) in names.iter().zip(key) {
            let kind = schema.field(name).ok_or_else(|| KernelError::missing_column(name))?.data_type().clone();
            let value = match (&kind, text) {
                (DataType::Primitive(primitive), Some(text)) => primitive.parse_scalar(&text)?,
                _ => Scalar::Null(kind),
            };
            values.insert(name.clone(), value);
        }
        parts.push((values, take_record_batch(batch, &UInt32Array::from(rows))?));
    }
    Ok(parts)
}

/// Write rows as a data file and return its add action.
fn write_file(
    writer: &Writer,
    rows: RecordBatch,
    context: BoundWriteContext,
) -> KernelResult<Box<dyn delta_kernel::EngineData>> {
    let schema = rows.schema();
    let indexes: Vec<usize> = context
        .logical_data_schema()
        .fields()
        .map(|field| schema.index_of(field.name()).map_err(|_| KernelError::missing_column(field.name())))
        .collect::<Result<_, _>>()?;
    let data = ArrowEngineData::new(rows.project(&indexes)?);
    let engine = writer.engine.clone();
    writer.executor.block_on(async move { engine.write_parquet(&data, &context).await })
}

/// Delete the rows that match a condition with deletion vectors; commit nothing if no row matches.
fn delete(writer: &Writer, table: &Table, tree: Option<&Value>, commit: &Commit) -> Result<ApplyAnswer, Refusal> {
    let predicate = tree.map(parse_predicate).transpose()?.map(Arc::new);
    let snapshot = load(writer, table)?;
    let engine = writer.engine.as_ref();
    let builder = snapshot.clone().update_table(UpdateTableOperation::Delete, ENGINE_INFO, true);
    let builder = change_facts(builder, commit)?;
    let (committer, answer) = choose_committer(table.catalog);
    let mut transaction = refuse_kernel(builder.build(engine, committer))?;
    let found = refuse_kernel(find_rows(writer, &snapshot, predicate, transaction.logical_partition_columns()))?;
    if found.is_empty() {
        return Ok(ApplyAnswer::nothing());
    }
    transaction.ack_row_tracking_preservation();
    let stage = || {
        let vectors = write_vectors(writer, &snapshot, found, &transaction)?;
        let scan = snapshot.clone().scan_builder().build()?;
        let files: Vec<_> = scan.scan_metadata(engine)?.collect::<KernelResult<_>>()?;
        Ok((vectors, files))
    };
    let (vectors, files) = refuse_kernel(stage())?;
    let files = files.into_iter().map(|batch| Ok(batch.scan_files));
    refuse_kernel(transaction.update_deletion_vectors(vectors, files))?;
    read_version(transaction.commit(engine)).map(|version| answer.committed(version))
}

/// Rows of a file.
struct FoundRows {
    partition_values: HashMap<String, Scalar>,
    indexes: Vec<u64>,
}

/// Return the rows that match a condition, by URL of their file.
fn find_rows(
    writer: &Writer,
    snapshot: &SnapshotRef,
    predicate: Option<delta_kernel::expressions::PredicateRef>,
    partition_columns: &[String],
) -> KernelResult<HashMap<String, FoundRows>> {
    let columns = [
        StructField::create_metadata_column(ROW_INDEX, MetadataColumnSpec::RowIndex),
        StructField::create_metadata_column(FILE, MetadataColumnSpec::FilePath),
    ];
    let schema = Arc::new(snapshot.schema().add(columns)?);
    let engine: Arc<dyn Engine> = writer.engine.clone();
    let scan = snapshot.clone().scan_builder().with_schema(schema.clone()).with_predicate(predicate.clone()).build()?;
    let evaluator = predicate
        .map(|predicate| engine.evaluation_handler().new_predicate_evaluator(schema.clone(), predicate))
        .transpose()?;
    let mut found: HashMap<String, FoundRows> = HashMap::new();
    for batch in scan.execute(engine)? {
        let batch = batch?;
        let matches = match &evaluator {
            None => None,
            Some(evaluator) => Some(evaluator.evaluate(batch.as_ref())?.try_into_record_batch()?),
        };
        let rows = batch.try_into_record_batch()?;
        let column = |name: &str| rows.column_by_name(name).ok_or_else(|| KernelError::missing_column(name));
        let indexes = column(ROW_INDEX)?.as_primitive::<Int64Type>();
        let files = cast(column(FILE)?, &ArrowType::Utf8)?;
        for row in 0..rows.num_rows() {
            let is_match = matches.as_ref().is_none_or(|found| {
                let found = found.column(0).as_boolean();
                found.is_valid(row) && found.value(row)
            });
            if is_match {
                let file = files.as_string::<i32>().value(row).to_string();
                let rows = match found.entry(file) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        let parts = split_by_partition(&rows.slice(row, 1), partition_columns, &schema)?;
                        let partition_values = parts.into_iter().next().map(|(values, _)| values).unwrap_or_default();
                        new.insert(FoundRows { partition_values, indexes: vec![] })
                    }
                };
                rows.indexes.push(indexes.value(row) as u64);
            }
        }
    }
    Ok(found)
}

/// Write a deletion vector for each file, with the rows that are deleted already; return them by path of the log.
fn write_vectors(
    writer: &Writer,
    snapshot: &SnapshotRef,
    mut found: HashMap<String, FoundRows>,
    transaction: &delta_kernel::transaction::Transaction,
) -> KernelResult<HashMap<String, DeletionVectorDescriptor>> {
    let engine = writer.engine.as_ref();
    let mut files: Vec<(String, DvInfo)> = vec![];
    for batch in snapshot.clone().scan_builder().build()?.scan_metadata(engine)? {
        files = batch?.visit_scan_files(files, |files, file| files.push((file.path, file.dv_info)))?;
    }
    let state = transaction.write_state()?;
    let store = engine
        .get_object_store_for_url(snapshot.table_root())
        .ok_or_else(|| KernelError::generic("the engine has no store"))?;
    let mut vectors = HashMap::new();
    for (path, old) in files {
        let Some(rows) = found.remove(snapshot.table_root().join(&path)?.as_str()) else {
            continue;
        };
        let mut vector = KernelDeletionVector::new();
        vector.add_deleted_row_indexes(rows.indexes);
        vector.add_deleted_row_indexes(old.get_row_indexes(engine, snapshot.table_root())?.unwrap_or_default());
        let context = state.write_context_builder();
        let context = match transaction.logical_partition_columns() {
            [] => context.build()?,
            _ => context.with_partition_values(rows.partition_values).build()?,
        };
        let target = context.new_deletion_vector_path(String::new());
        let mut bytes = vec![];
        let mut file = StreamingDeletionVectorWriter::new(&mut bytes);
        let written = file.write_deletion_vector(vector)?;
        file.finalize()?;
        let location = Path::from_url_path(target.absolute_path()?.path())?;
        let put = store.clone();
        writer.executor.block_on(async move { put.put(&location, bytes.into()).await })?;
        vectors.insert(path, written.to_descriptor(&target));
    }
    match found.keys().next() {
        None => Ok(vectors),
        Some(file) => {
            Err(KernelError::generic(format!("the scan returned rows of {file}, which is not in the snapshot")))
        }
    }
}

fn parse_form(form: Option<&str>) -> Result<Option<CheckpointSpec>, Refusal> {
    match form {
        None => Ok(None),
        Some("v1") => Ok(Some(CheckpointSpec::V1)),
        Some("v2") => Ok(Some(CheckpointSpec::V2(V2CheckpointConfig::NoSidecar))),
        Some("v2-sidecars") => {
            Ok(Some(CheckpointSpec::V2(V2CheckpointConfig::WithSidecar { file_actions_per_sidecar_hint: Some(2) })))
        }
        Some(form) => Err(Refusal::unsupported("operation", &format!("no checkpoints of the form {form}"))),
    }
}

fn parse_column(name: &Value, kind: String, nullable: bool, after: Option<&Value>) -> Result<StructField, Refusal> {
    let name = match name {
        Value::String(name) => Some(name.as_str()),
        Value::Array(path) if path.len() == 1 => path[0].as_str(),
        _ => None,
    };
    let name = name.ok_or_else(|| Refusal::unsupported("operation", "only columns at the top level are added"))?;
    if after.is_some_and(|after| !after.is_null()) {
        return Err(Refusal::unsupported("operation", "columns are added at the end"));
    }
    let kind: DataType = serde_json::from_value(Value::String(kind))
        .map_err(|error| Refusal::unsupported("operation", &error.to_string()))?;
    Ok(StructField::new(name, kind, nullable))
}

/// Add transaction, domains and user metadata, and remove domains.
fn change_facts(
    builder: TransactionBuilder<UpdateTable>,
    commit: &Commit,
) -> Result<TransactionBuilder<UpdateTable>, Refusal> {
    let removed = commit.domains.iter().filter(|(_, configuration)| configuration.is_none());
    Ok(removed.fold(add_facts(builder, commit)?, |builder, (domain, _)| builder.with_domain_metadata_removed(domain)))
}

/// Add transaction, domains and user metadata.
fn add_facts<T: TransactionType>(
    mut builder: TransactionBuilder<T>,
    commit: &Commit,
) -> Result<TransactionBuilder<T>, Refusal> {
    if let Some(transaction) = &commit.txn {
        builder = builder.with_transaction_id(transaction.app_id.clone(), transaction.version);
    }
    for (domain, configuration) in &commit.domains {
        if let Some(configuration) = configuration {
            builder = builder.with_domain_metadata(domain.clone(), configuration.clone());
        }
    }
    if let Some(text) = &commit.user_metadata {
        let column: Arc<dyn Array> = Arc::new(StringArray::from(vec![text.as_str()]));
        let row = refuse_kernel(RecordBatch::try_from_iter([("userMetadata", column)]).map_err(KernelError::from))?;
        builder = builder
            .with_commit_info(Box::new(ArrowEngineData::new(row)), schema_ref! { nullable "userMetadata": STRING });
    }
    Ok(builder)
}

fn commit_update(
    writer: &Writer,
    table: &Table,
    builder: TransactionBuilder<UpdateTable>,
) -> Result<ApplyAnswer, Refusal> {
    let engine = writer.engine.as_ref();
    let (committer, answer) = choose_committer(table.catalog);
    let transaction = refuse_kernel(builder.build(engine, committer))?;
    read_version(transaction.commit(engine)).map(|version| answer.committed(version))
}

fn read_version<S>(result: KernelResult<CommitResult<S>>) -> Result<u64, Refusal> {
    match refuse_kernel(result)? {
        CommitResult::Committed(done) => Ok(done.commit_version()),
        CommitResult::Conflicted(lost) => {
            Err(Refusal::conflict(format!("version {} exists already", lost.conflict_version())))
        }
        CommitResult::Retryable(failed) => Err(Refusal::from_kernel(&failed.error, Phase::Commit)),
    }
}
