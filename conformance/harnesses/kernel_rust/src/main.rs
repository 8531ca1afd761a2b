//! Candidate of deltaspec: the Rust Delta Kernel with its default engine.
//!
//! Answers the candidate protocol: one JSON object per line on stdin and stdout, rows as Arrow IPC files.

mod capabilities;
mod catalog;
mod errors;
mod messages;
mod predicates;
mod projection;
mod rows;
mod state;
mod writes;

use std::fs::File;
use std::io::{BufRead, Write, stdin};
use std::os::fd::FromRawFd;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

use delta_kernel::Engine;
use delta_kernel_default_engine::DefaultEngineBuilder;
use delta_kernel_default_engine::executor::tokio::TokioMultiThreadExecutor;
use delta_kernel_default_engine::storage::store_from_url;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use crate::errors::Refusal;
use crate::writes::Writer;

/// Locations and messages of the panics during the current request, of all threads.
static PANICS: Mutex<Vec<String>> = Mutex::new(vec![]);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut answers = move_stdout_aside()?;
    panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(panic.to_string());
    }));
    let store = store_from_url(&Url::parse("file:///")?)?;
    let executor = Arc::new(TokioMultiThreadExecutor::new_owned_runtime(None, None)?);
    let engine = Arc::new(DefaultEngineBuilder::new(store).with_task_executor(executor.clone()).build());
    let writer = Writer { engine, executor };
    for line in stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let seq = request["seq"].clone();
        let done = request["op"] == "bye";
        let answer = match answer(&writer, request) {
            Ok(ok) => json!({"seq": seq, "ok": ok}),
            Err(refusal) => json!({"seq": seq, "error": refusal}),
        };
        writeln!(answers, "{answer}")?;
        if done {
            break;
        }
    }
    Ok(())
}

/// Return the pipe of the answers; from now on, prints to stdout go to stderr.
fn move_stdout_aside() -> std::io::Result<File> {
    // SAFETY: the descriptors 1 and 2 are open, and the duplicate has no other owner.
    unsafe {
        let answers = libc::dup(1);
        if answers < 0 || libc::dup2(2, 1) < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(File::from_raw_fd(answers))
    }
}

/// Return the answer of an operation; a panic is an error of category `internal`.
fn answer(writer: &Writer, request: Value) -> Result<Value, Refusal> {
    let answer = panic::catch_unwind(AssertUnwindSafe(|| run_operation(writer, request)));
    let panics = std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner));
    answer.unwrap_or_else(|_| Err(Refusal::panic(panics.join("; then "))))
}

fn run_operation(writer: &Writer, request: Value) -> Result<Value, Refusal> {
    let engine: Arc<dyn Engine> = writer.engine.clone();
    match request["op"].as_str().unwrap_or_default() {
        "hello" => to_json(capabilities::describe(&request)?),
        "snapshot" => to_json(state::read_snapshot(engine.as_ref(), parse(request)?)?),
        "scan" => to_json(rows::scan(engine, parse(request)?)?),
        "changes" => to_json(rows::read_changes(engine, parse(request)?)?),
        "apply" => to_json(writes::apply(writer, parse(request)?)?),
        "bye" => Ok(json!({})),
        operation => Err(Refusal::unsupported("operation", &format!("unknown operation {operation:?}"))),
    }
}

fn parse<T: DeserializeOwned>(request: Value) -> Result<T, Refusal> {
    serde_json::from_value(request).map_err(|error| Refusal::invalid_request(error.to_string()))
}

fn to_json(answer: impl serde::Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(answer).map_err(|error| Refusal::internal("Json", error.to_string()))
}
