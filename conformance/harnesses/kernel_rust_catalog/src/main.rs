//! Append to tables of a catalog with delta_kernel, as a connector for Unity Catalog does.
//!
//! Usage: `kernel_rust_catalog SERVER CATALOG.SCHEMA.TABLE APPENDS [publish]`; the token is in `DELTASPEC_CATALOG_TOKEN`.
//! A table that the catalog does not know is created. Each result is a line of JSON on stdout: the operation and the
//! version, or the error. The exit code is 0 even if a commit fails.

use std::env;
use std::error::Error;
use std::sync::Arc;

use delta_kernel::Snapshot;
use delta_kernel::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use delta_kernel::engine::arrow_data::ArrowEngineData;
use delta_kernel::schema::{DataType, StructField, StructType};
use delta_kernel::snapshot::SnapshotRef;
use delta_kernel::transaction::create_table::create_table;
use delta_kernel::transaction::{CommitResult, UpdateTableOperation};
use delta_kernel_default_engine::executor::tokio::TokioMultiThreadExecutor;
use delta_kernel_default_engine::storage::store_from_url_opts;
use delta_kernel_default_engine::{DefaultEngine, DefaultEngineBuilder};
use delta_kernel_unity_catalog::{
    UCCommitter, aws_object_store_options, build_uc_create_table_request, get_required_properties_for_disk,
    snapshot_builder_from_load_table,
};
use serde_json::json;
use tokio::runtime::Handle;
use unity_catalog_delta_client_api::{CreateStagingTableRequest, Operation, StorageCredential, TableIdentifier};
use unity_catalog_delta_rest_client::{ClientConfig, UCDeltaTableClient, UCUpdateTableRestClient};
use url::Url;

type Outcome<T> = Result<T, Box<dyn Error>>;
type Engine = Arc<DefaultEngine<TokioMultiThreadExecutor>>;
type Committer = UCCommitter<UCUpdateTableRestClient>;

const ENGINE_INFO: &str = "deltaspec kernel_rust_catalog";

struct Connector {
    config: ClientConfig,
    client: UCDeltaTableClient,
    catalog: String,
    schema: String,
    table: String,
}

impl Connector {
    fn committer(&self, id: &str) -> Outcome<Box<Committer>> {
        let name = TableIdentifier::new(self.catalog.clone(), self.schema.clone(), self.table.clone());
        Ok(Box::new(UCCommitter::new(Arc::new(UCUpdateTableRestClient::new(self.config.clone())?), id, name)))
    }

    /// Create the table: version 0 in the storage, then the table in the catalog.
    async fn create(&self) -> Outcome<()> {
        let request = CreateStagingTableRequest { name: self.table.clone() };
        let staging = self.client.create_staging_table(&self.catalog, &self.schema, request).await?;
        let root = parse_root(&staging.location)?;
        if let Ok(path) = root.to_file_path() {
            std::fs::create_dir_all(path)?;
        }
        let engine = build_engine(&root, &staging.storage_credentials)?;
        let schema = Arc::new(StructType::try_new([StructField::nullable("id", DataType::LONG)])?);
        let result = create_table(root.as_str(), schema, ENGINE_INFO, true)
            .with_table_properties(get_required_properties_for_disk(&staging.table_id))
            .build(engine.as_ref(), self.committer(&staging.table_id)?)?
            .commit(engine.as_ref())?;
        read_version(result)?;
        let snapshot = Snapshot::builder_for(root).with_max_catalog_version(0).build(engine.as_ref())?;
        let request = build_uc_create_table_request(&snapshot, engine.as_ref(), &self.table)?;
        self.client.create_table(&self.catalog, &self.schema, request).await?;
        Ok(())
    }

    /// Load the snapshot of the latest version that the catalog ratified.
    async fn load(&self) -> Outcome<(SnapshotRef, Engine, String)> {
        let answer = self.client.load_table(&self.catalog, &self.schema, &self.table).await?;
        let credentials =
            self.client.get_table_credentials(&self.catalog, &self.schema, &self.table, Operation::ReadWrite).await?;
        let engine = build_engine(&parse_root(&answer.metadata.location)?, &credentials.storage_credentials)?;
        let snapshot = snapshot_builder_from_load_table(&answer)?.build(engine.as_ref())?;
        Ok((snapshot, engine, answer.metadata.table_uuid))
    }

    /// Append a row; return the version of the commit.
    async fn append(&self, value: i64) -> Outcome<u64> {
        let (snapshot, engine, id) = self.load().await?;
        let mut transaction = snapshot
            .update_table(UpdateTableOperation::Write, ENGINE_INFO, true)
            .with_blind_append()
            .build(engine.as_ref(), self.committer(&id)?)?;
        let column: ArrayRef = Arc::new(Int64Array::from(vec![value]));
        let data = ArrowEngineData::new(RecordBatch::try_from_iter([("id", column)])?);
        let context = transaction.write_state()?.write_context_builder().build()?;
        transaction.add_files(engine.write_parquet(&data, &context).await?);
        read_version(transaction.commit(engine.as_ref())?)
    }

    /// Publish all ratified commits; return the latest version.
    async fn publish(&self) -> Outcome<u64> {
        let (snapshot, engine, id) = self.load().await?;
        snapshot.publish(engine.as_ref(), self.committer(&id)?.as_ref())?;
        Ok(snapshot.version())
    }
}

fn read_version<S>(result: CommitResult<S>) -> Outcome<u64> {
    match result {
        CommitResult::Committed(committed) => Ok(committed.commit_version()),
        _ => Err("the commit conflicts with another".into()),
    }
}

fn parse_root(location: &str) -> Outcome<Url> {
    Ok(Url::parse(&format!("{}/", location.trim_end_matches('/')))?)
}

fn build_engine(root: &Url, credentials: &[StorageCredential]) -> Outcome<Engine> {
    let store = store_from_url_opts(root, aws_object_store_options(credentials, "us-east-1"))?;
    let executor = Arc::new(TokioMultiThreadExecutor::new(Handle::current()));
    Ok(Arc::new(DefaultEngineBuilder::new(store).with_task_executor(executor).build()))
}

fn print(operation: &str, outcome: Outcome<u64>) {
    match outcome {
        Ok(version) => println!("{}", json!({"operation": operation, "version": version})),
        Err(error) => println!("{}", json!({"operation": operation, "error": error.to_string()})),
    }
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [server, name, appends, rest @ ..] = &arguments[..] else {
        return Err("expected SERVER CATALOG.SCHEMA.TABLE APPENDS [publish]".into());
    };
    let [catalog, schema, table] = name.split('.').collect::<Vec<_>>()[..] else {
        return Err("expected CATALOG.SCHEMA.TABLE".into());
    };
    let config = ClientConfig::build(server, env::var("DELTASPEC_CATALOG_TOKEN").unwrap_or_default()).build()?;
    let client = UCDeltaTableClient::new(config.clone())?;
    let (catalog, schema, table) = (catalog.into(), schema.into(), table.into());
    let connector = Connector { config, client, catalog, schema, table };
    if connector.load().await.is_err() {
        print("create", connector.create().await.map(|()| 0));
    }
    for value in 0..appends.parse::<i64>()? {
        print("append", connector.append(value).await);
    }
    if rest.contains(&"publish".to_string()) {
        print("publish", connector.publish().await);
    }
    Ok(())
}
