//! Commits to catalog-managed tables. The host is the catalog: it decides about the staged commits.

use std::sync::{Arc, Mutex, PoisonError};

use delta_kernel::committer::{CommitMetadata, CommitResponse, Committer, FileSystemCommitter, PublishMetadata};
use delta_kernel::{Engine, FilteredEngineData, KernelError, KernelResult, KernelResultIterator};

use crate::messages::{ApplyAnswer, Catalog};

/// Stages commits, without asking for their ratification.
#[derive(Default)]
pub struct StagingCommitter {
    staged: StagedName,
}

/// Name of the staged commit, once there is one.
type StagedName = Arc<Mutex<Option<String>>>;

impl Committer for StagingCommitter {
    fn commit(
        &self,
        engine: &dyn Engine,
        actions: KernelResultIterator<'_, FilteredEngineData>,
        commit_metadata: CommitMetadata,
    ) -> KernelResult<CommitResponse> {
        let path = commit_metadata.staged_commit_path()?;
        engine.json_handler().write_json_file(&path, Box::new(actions), false)?;
        let name = path.path_segments().and_then(|mut parts| parts.next_back()).map(str::to_string);
        *self.staged.lock().unwrap_or_else(PoisonError::into_inner) = name;
        Ok(CommitResponse::Committed { file_meta: engine.storage_handler().head(&path)? })
    }

    fn is_catalog_committer(&self) -> bool {
        true
    }

    fn publish(&self, engine: &dyn Engine, publish_metadata: PublishMetadata) -> KernelResult<()> {
        for commit in publish_metadata.commits_to_publish() {
            match engine.storage_handler().copy_atomic(commit.location(), commit.published_location()) {
                Ok(()) | Err(KernelError::FileAlreadyExists(_)) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What answers a commit: its version, and its name if the host has to ratify it.
pub struct Answer(StagedName);

impl Answer {
    pub fn committed(&self, version: u64) -> ApplyAnswer {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => ApplyAnswer::committed(version),
            Some(name) => ApplyAnswer::staged(version, name),
        }
    }
}

/// Return the committer of a table, and what answers its commit.
pub fn choose_committer(catalog: Option<&Catalog>) -> (Box<dyn Committer>, Answer) {
    let staging = StagingCommitter::default();
    let answer = Answer(staging.staged.clone());
    match catalog {
        None => (Box::new(FileSystemCommitter::new()), answer),
        Some(_) => (Box::new(staging), answer),
    }
}
