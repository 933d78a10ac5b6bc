//! Tools of a program: without arguments, with wrong argument types, and with effects that need a yes.

use std::sync::atomic::{AtomicBool, Ordering};

use toolgate::tool::{Cx, Intent, Permit, ToolHandler, WorkingDir};
use toolgate::{ToolError, ToolErrorKind, ToolOutput, Toolgate, json};

static SENT: AtomicBool = AtomicBool::new(false);

struct SendMail;

impl ToolHandler for SendMail {
    type Args = ();
    const NAME: &'static str = "send_mail";
    const ABOUT: &'static str = "Sends the report.";

    fn intent(&self, (): &(), _: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::connect("mail.example:25"))
    }

    async fn run(&self, (): &(), _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        SENT.store(true, Ordering::Relaxed);
        Ok(ToolOutput::text("sent"))
    }
}

/// A tool whose arguments are no object.
struct Say;

impl ToolHandler for Say {
    type Args = String;
    const NAME: &'static str = "say";
    const ABOUT: &'static str = "Says it.";

    async fn run(&self, text: &String, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(text))
    }
}

struct Version;

impl ToolHandler for Version {
    type Args = ();
    const NAME: &'static str = "version";
    const ABOUT: &'static str = "Says the version.";

    async fn run(&self, (): &(), _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("1.2"))
    }
}

#[tokio::test]
async fn a_tool_without_arguments_takes_an_empty_object() {
    let directory = testkit::visible_tempdir();
    let toolgate = Toolgate::at(directory.path()).tool(Version).build().unwrap();
    assert_eq!(toolgate.call("version", json!({})).await.joined_text(), "1.2");
    let answer = toolgate.call("version", json!({ "of": 1 })).await;
    assert_eq!(answer.facts.error, Some(ToolErrorKind::BadArguments), "{}", answer.joined_text());
}

#[test]
fn arguments_that_are_no_object_are_an_error_of_the_program() {
    let directory = testkit::visible_tempdir();
    let fault = Toolgate::at(directory.path()).tool(Say).build().unwrap_err();
    assert!(fault.to_string().contains("the arguments of the tool `say` must be a struct"), "{fault}");
}

#[tokio::test]
async fn a_stated_host_needs_a_yes() {
    let directory = testkit::visible_tempdir();
    let toolgate = Toolgate::at(directory.path()).tool(SendMail).build().unwrap();
    let answer = toolgate.call("send_mail", json!({})).await;
    assert_eq!(answer.facts.error, Some(ToolErrorKind::Forbidden), "{}", answer.joined_text());
    assert!(answer.joined_text().contains("mail.example:25"), "{}", answer.joined_text());
    assert!(!SENT.load(Ordering::Relaxed));
}

/// A tool that lets a second `Toolgate` run its command, which is then confined.
struct Count(Toolgate);

impl ToolHandler for Count {
    type Args = ();
    const NAME: &'static str = "count";
    const ABOUT: &'static str = "Counts.";

    async fn run(&self, (): &(), _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(self.0.call("shell_command", json!({ "command": "touch ran; echo 1 2 | wc -w" })).await)
    }
}

#[tokio::test]
async fn a_tool_runs_a_confined_command_in_a_second_toolgate() {
    let directory = testkit::visible_tempdir();
    let second = Toolgate::at(directory.path()).with_tools().build().unwrap();
    let toolgate = Toolgate::at(directory.path()).with_tools().tool(Count(second)).build().unwrap();
    let answer = toolgate.call("count", json!({})).await;
    assert!(answer.joined_text().contains("Read-only file system"), "{}", answer.joined_text());
    assert!(answer.joined_text().contains("\n2"), "{}", answer.joined_text());
    assert!(!directory.path().join("ran").exists());
}
