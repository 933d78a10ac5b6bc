//! Exports a session's journal to an OpenTelemetry collector as spans and histograms, named by the GenAI conventions.
//!
//! Prompts, arguments and answers are not sent.

mod encode;
mod exporter_settings;
mod histogram;
mod span;
mod trace_builder;

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::{CollectorFault, OtlpCollector};
use runtime::PlainHttp;
use serde_json::Value;

use self::exporter_settings::ExporterSettings;
use self::trace_builder::SessionTrace;
use crate::resolve_session::ResolvedSession;
use config::OperationFault;
use terminal::FAINT;

/// Spans in one request: a few hundred kilobytes, where collectors accept megabytes.
const MAX_SPANS_PER_REQUEST: usize = 1000;
/// Time limit of one request when the user waits for the export.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that the export may add to the end of a session.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(2);
/// Characters of a collector's reason that are shown.
const MAX_REASON_CHARS: usize = 200;

/// The result of an export.
pub struct ExportSummary {
    /// The number of spans that were sent.
    pub spans: usize,
    /// The id of the session.
    pub session: String,
    /// The host and port of the collector.
    pub host: String,
    /// The reason why only a part was sent.
    pub incomplete_reason: Option<String>,
}

/// Sends the session to the collector at `url`, which may be asked over plain HTTP if `plain` accepts it.
pub async fn export_session(
    session: &ResolvedSession,
    url: &str,
    plain: PlainHttp,
) -> Result<ExportSummary, OperationFault> {
    let settings = ExporterSettings::from_variables(&env_variable).with_endpoint(url);
    let collector = settings.to_collector(plain).map_err(|fault| collector_fault(&fault))?;
    let trace =
        SessionTrace::read(&session.path).map_err(|fault| OperationFault::usage(fault.to_string()))?;
    let host = collector.host_and_port();
    send_trace(&collector, &settings.service, &trace)
        .await
        .map_err(|why| OperationFault::failed(format!("the session was not sent to {host}: {why}")))?;
    let SessionTrace { session, spans, incomplete_reason, .. } = trace;
    Ok(ExportSummary { spans: spans.len(), session, host, incomplete_reason })
}

/// Sends the session in `journal`, which has just ended, to the collector that the environment names, if any. The
/// time is limited, and a failure does not affect the session.
pub async fn report_session(journal: &Path, plain: PlainHttp) {
    let settings = ExporterSettings::from_variables(&env_variable);
    if settings.endpoint.is_empty() {
        return;
    }
    let late = || OperationFault::failed(format!("it took longer than {} s", SESSION_END_TIMEOUT.as_secs()));
    let exported = export_journal(&settings, journal.to_owned(), plain);
    let sent = tokio::time::timeout(SESSION_END_TIMEOUT, exported).await;
    if let Err(fault) = sent.unwrap_or_else(|_| Err(late())) {
        let why = terminal::to_one_line(fault.message());
        terminal::print_stderr(&format!("{FAINT}the session was not sent to the collector: {why}{FAINT:#}"));
        if let Some(hint) = fault.hint() {
            terminal::print_hint(hint);
        }
    }
}

/// Converts the error of a collector, with a hint for one in the user's own network.
fn collector_fault(fault: &CollectorFault) -> OperationFault {
    let told = OperationFault::usage(fault.to_string());
    match fault {
        CollectorFault::PlainText { plain: PlainHttp::PrivateNetwork, .. } => {
            told.with_hint("--insecure-http is for private addresses only")
        }
        CollectorFault::PlainText { may_be_private: true, .. } => told.with_hint(
            "a collector in your own network needs --insecure-http, or `insecure_http = true` in your configuration",
        ),
        CollectorFault::PlainText { .. } | CollectorFault::Wrong(_) => told,
    }
}

async fn export_journal(
    settings: &ExporterSettings,
    journal: PathBuf,
    plain: PlainHttp,
) -> Result<(), OperationFault> {
    let collector = settings.to_collector(plain).map_err(|fault| collector_fault(&fault))?;
    #[expect(
        clippy::disallowed_methods,
        reason = "no call: it reads our own file, and the program does not wait for it"
    )]
    let read = tokio::task::spawn_blocking(move || SessionTrace::read(&journal)).await;
    let failed = |why: String| OperationFault::failed(why);
    let trace =
        read.map_err(|error| failed(error.to_string()))?.map_err(|fault| failed(fault.to_string()))?;
    let sent = send_trace(&collector, &settings.service, &trace).await;
    sent.map_err(|why| failed(format!("{}: {why}", collector.host_and_port())))
}

async fn send_trace(collector: &OtlpCollector, service: &str, trace: &SessionTrace) -> Result<(), String> {
    for spans in trace.spans.chunks(MAX_SPANS_PER_REQUEST) {
        let body = encode::traces_request(service, trace, spans).to_string();
        check_accepted(&collector.post("v1/traces", body, REQUEST_TIMEOUT).await?)?;
    }
    let histograms = histogram::build_histograms(&trace.spans);
    if histograms.is_empty() {
        return Ok(());
    }
    let body = encode::metrics_request(service, trace, &histograms).to_string();
    check_accepted(&collector.post("v1/metrics", body, REQUEST_TIMEOUT).await?)
}

/// Checks that the collector accepted everything: a successful answer may report partial success.
fn check_accepted(answer: &str) -> Result<(), String> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let partial = &answer["partialSuccess"];
    let count = |name: &str| {
        let count = &partial[name];
        count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or(0)
    };
    match count("rejectedSpans") + count("rejectedDataPoints") {
        0 => Ok(()),
        rejected => {
            let why = partial["errorMessage"].as_str().unwrap_or("it does not say why");
            let why: String = why.chars().take(MAX_REASON_CHARS).collect();
            Err(format!("it did not take {rejected} of them: {why}"))
        }
    }
}

fn env_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_success_is_an_error() {
        for all in [
            "",
            "{}",
            r#"{"partialSuccess":{}}"#,
            r#"{"partialSuccess":{"errorMessage":"a hint"}}"#,
            "not JSON",
        ] {
            assert_eq!(check_accepted(all), Ok(()), "{all}");
        }
        for part in [
            r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#,
            r#"{"partialSuccess":{"rejectedDataPoints":2,"errorMessage":"too old"}}"#,
        ] {
            assert_eq!(check_accepted(part), Err("it did not take 2 of them: too old".to_owned()), "{part}");
        }
    }
}
