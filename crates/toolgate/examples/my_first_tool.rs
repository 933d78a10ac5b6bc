//! A tool of your own: one type, added with one line. Run it with `cargo run --example my_first_tool`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use schemars::JsonSchema;
use serde::Deserialize;
use toolgate::tool::{Cx, Permit, ToolHandler};
use toolgate::{ToolError, ToolOutput, Toolgate, json};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Roll {
    /// How many sides the die has, e.g. `6`.
    #[schemars(range(min = 2))]
    sides: u64,
}

struct RollDie;

impl ToolHandler for RollDie {
    type Args = Roll;
    const NAME: &'static str = "roll_die";
    const ABOUT: &'static str = "Rolls a die and returns the number.";

    async fn run(&self, args: &Roll, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| u64::from(time.subsec_nanos()));
        Ok(ToolOutput::text((now % args.sides + 1).to_string()))
    }
}

#[tokio::main]
async fn main() -> Result<(), toolgate::BuildFault> {
    let toolgate = Toolgate::at(".").with_tools().tool(RollDie).build()?;
    for arguments in [json!({"sides": 6}), json!({"sides": 1}), json!({"side": 6})] {
        println!("{arguments} -> {}", toolgate.call("roll_die", arguments.clone()).await.joined_text());
    }
    Ok(())
}
