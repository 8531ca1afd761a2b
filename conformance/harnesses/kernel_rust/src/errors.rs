//! Errors of the kernel as categories of the candidate protocol.

use delta_kernel::KernelError;
use delta_kernel::arrow::error::ArrowError;
use delta_kernel::history_manager::error::LogHistoryError;
use delta_kernel::object_store;
use delta_kernel::parquet::errors::ParquetError;
use serde::Serialize;

/// Part of the operation in which an error occurred.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Snapshot,
    Scan,
    Changes,
    Commit,
}

/// Error answer.
#[derive(Serialize)]
pub struct Refusal {
    category: &'static str,
    message: String,
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<Phase>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    features: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    native: String,
}

impl Refusal {
    fn new(category: &'static str, code: &str, message: String) -> Self {
        Self { category, message, code: code.to_string(), phase: None, features: vec![], native: String::new() }
    }

    pub fn internal(code: &str, message: String) -> Self {
        Self::new("internal", code, message)
    }

    pub fn panic(message: String) -> Self {
        Self { native: "panic".to_string(), ..Self::internal("panic", message) }
    }

    pub fn invalid_request(message: String) -> Self {
        Self::new("invalid-request", "request", message)
    }

    pub fn conflict(message: String) -> Self {
        Self { phase: Some(Phase::Commit), ..Self::new("conflict", "Conflicted", message) }
    }

    pub fn unsupported(code: &str, message: &str) -> Self {
        Self::new("unsupported", code, message.to_string())
    }

    pub fn from_kernel(error: &KernelError, phase: Phase) -> Self {
        let error = error.without_backtrace();
        let message = error.to_string();
        Self {
            category: category(error, phase),
            code: variant_name(error),
            phase: Some(phase),
            features: if matches!(error, KernelError::Unsupported(_)) { quoted_words(&message) } else { vec![] },
            native: match error {
                KernelError::Arrow(cause) => format!("ArrowError::{}", variant_name(cause)),
                KernelError::Parquet(cause) => format!("ParquetError::{}", variant_name(cause)),
                KernelError::LogHistory(cause) => format!("LogHistoryError::{}", variant_name(cause)),
                _ => format!("KernelError::{}", variant_name(error)),
            },
            message,
        }
    }
}

/// Return the category of a kernel error. The kernel reports a gap in the log as `MissingVersion`.
fn category(error: &KernelError, phase: Phase) -> &'static str {
    use KernelError::*;
    match error {
        // Errors of the store that the Parquet writer wraps.
        Parquet(_) if phase == Phase::Commit && error.to_string().contains("(os error") => "io",
        Unsupported(_) | MaxCatalogVersion(_) | ChangeDataFeedIncompatibleSchema(..) => "unsupported",
        // Changes of a range of versions in which the schema changes.
        Generic(message) if message.contains("schemas are different") => "unsupported",
        Generic(message) if message.ends_with("is not supported during CREATE TABLE") => "unsupported",
        EmptyLog | MissingVersion(_) | StartVersionNotFound { .. } | InvalidTableLocation(_) => "not-found",
        FileNotFound(_) if phase == Phase::Snapshot => "not-found",
        FileNotFound(_)
        | DeletionVector(_)
        | InvalidCheckpoint(_)
        | InvalidColumnMappingMode(_)
        | InvalidDecimal(_)
        | InvalidLogPath(_)
        | InvalidLogSegment(_)
        | InvalidProtocol(_)
        | MalformedJson(_)
        | MissingData(_)
        | MissingMetadata
        | MissingMetadataAndProtocol
        | MissingProtocol
        | ParseError(..)
        | ParseIntError(_)
        | ParseIntervalError(_)
        | Schema(_)
        | Utf8Error(_) => "corrupt",
        ChangeDataFeedUnsupported(_) | MissingColumn(_) => "invalid-request",
        IOError(_) | ObjectStore(_) => "io",
        CheckpointWrite(_) | ChecksumWriteUnsupported(_) => "unsupported",
        FileAlreadyExists(_) if phase == Phase::Commit => "conflict",
        Generic(message) | InvalidTransactionState(message) if message.contains("Append-only") => "constraint",
        // The kernel does not fill in default values.
        InvalidTransactionState(message) if message.contains("column defaults") => "unsupported",
        // Rows with nulls in a column that is not nullable.
        Arrow(ArrowError::InvalidArgumentError(_)) if phase == Phase::Commit => "constraint",
        InvalidPartitionValues(message) if message.contains("is not nullable") => "constraint",
        LogHistory(cause) => match cause.as_ref() {
            LogHistoryError::TimestampOutOfRange { .. } | LogHistoryError::NoCommitsFound { .. } => "not-found",
            LogHistoryError::NoRecreatableCommit { .. } => "corrupt",
            LogHistoryError::Internal { source: Some(source), .. } => category(source.without_backtrace(), phase),
            _ => "internal",
        },
        Arrow(ArrowError::NotYetImplemented(_)) | Parquet(ParquetError::NYI(_)) => "unsupported",
        Arrow(ArrowError::JsonError(_) | ArrowError::ParquetError(_) | ArrowError::ParseError(_)) => "corrupt",
        Arrow(ArrowError::IoError(..)) => "io",
        Parquet(ParquetError::External(cause)) => match cause.downcast_ref() {
            Some(object_store::Error::NotFound { .. }) => "corrupt",
            Some(_) => "io",
            None => "internal",
        },
        Parquet(ParquetError::General(_) | ParquetError::EOF(_) | ParquetError::ArrowError(_)) => "corrupt",
        _ => "internal",
    }
}

/// Return the name of an enum's variant, for example `MissingVersion` of `MissingVersion(3)`.
fn variant_name(error: &impl std::fmt::Debug) -> String {
    let text = format!("{error:?}");
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    text[..end].to_string()
}

/// Return the texts in single quotes: the kernel quotes the features that it refuses.
fn quoted_words(message: &str) -> Vec<String> {
    message.split('\'').skip(1).step_by(2).map(str::to_string).collect()
}
