//! `intriage`: where did the inference time go, why, and what to change.

mod cli;
mod commands;
mod failure;
mod settings;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(code) => code.into(),
        Err(failure) => failure.report(),
    }
}
