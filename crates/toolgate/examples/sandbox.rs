//! The sandbox alone: runs commands that your program chooses, confined, and says what the kernel enforced.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use toolgate::Toolgate;
use toolgate::sandbox::{CommandLimits, Confinement, Enforcement, HostRules, SandboxCommand, SandboxPolicy};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let confinement = Confinement {
        // Without this, no host is reached.
        hosts: HostRules { allow: vec!["*.crates.io".parse()?], ..HostRules::default() },
        limits: CommandLimits { file_size: Some(1 << 20), ..CommandLimits::default() },
        ..Confinement::default()
    };
    let sandbox = Toolgate::at(directory.path())
        .sandbox(SandboxPolicy::WorkspaceWrite)
        .confinement(confinement)
        .build_sandbox()?;

    let script = "cat > notes.txt; wc -l notes.txt; ls ~/.ssh; touch /etc/oops; curl -sS https://example.com";
    let command = SandboxCommand::new(["sh", "-c", script])
        .input("one\ntwo\n")
        .env("LC_ALL", "C")
        .time_limit(Duration::from_secs(20));
    let output = sandbox.run_to_end(&command).await?;

    println!("exit code {}", output.exit.code());
    print!("{}", String::from_utf8_lossy(&output.stdout));
    print!("{}", String::from_utf8_lossy(&output.stderr));
    for denial in &output.denials {
        println!("the kernel refused: {denial}");
    }
    match &output.enforcement {
        Enforcement::Full => println!("everything was enforced"),
        Enforcement::Partial(gaps) => {
            gaps.iter().for_each(|gap| println!("not enforced: {}", gap.sentence()));
        }
        Enforcement::None { why } => println!("nothing was enforced: {why}"),
    }
    Ok(())
}
