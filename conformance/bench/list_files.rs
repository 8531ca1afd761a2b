//! `list_files TABLE`: load the table with delta_kernel and list its files; print their number.

use std::{env, error::Error, fs, sync::Arc};

use delta_kernel::engine::arrow_data::EngineDataArrowExt;
use delta_kernel::{Snapshot, object_store::local::LocalFileSystem};
use delta_kernel_default_engine::DefaultEngineBuilder;
use url::Url;

fn main() -> Result<(), Box<dyn Error>> {
    let table = env::args().nth(1).ok_or("usage: list_files TABLE")?;
    let url = Url::from_directory_path(fs::canonicalize(table)?).map_err(|()| "not a path")?;
    let engine = DefaultEngineBuilder::new(Arc::new(LocalFileSystem::new())).build();
    let scan = Snapshot::builder_for(url).build(&engine)?.scan_builder().build()?;
    let mut files = 0;
    for batch in scan.scan_metadata(&engine)? {
        files += batch?.scan_files.apply_selection_vector()?.try_into_record_batch()?.num_rows();
    }
    println!("{files}");
    Ok(())
}
