//! What can be written down: one kind of entry for each thing that happens in a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing that happened. `docs/journal.md` has what each kind and each field is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// A session begins, or goes on.
    Session {
        /// Of the program that writes.
        version: String,
        /// The working directory.
        cwd: String,
        /// What the model is called.
        model: String,
        /// The dialect it is spoken to in.
        wire: String,
        /// What confines commands.
        sandbox: String,
        /// When somebody is asked.
        approval: String,
        /// Whether it goes on after an earlier end.
        resumed: bool,
    },
    /// The user said something.
    Prompt {
        /// The words.
        text: String,
        /// The pictures that came with them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Picture>,
    },
    /// The model said something.
    Said {
        /// The dialect of the items.
        wire: String,
        /// Its own items, as they came.
        items: Vec<Value>,
    },
    /// The model called a tool.
    Call {
        /// What the model calls the call.
        id: String,
        /// The tool, as the model named it.
        tool: String,
        /// In which form.
        form: Form,
        /// The arguments, as they came.
        arguments: String,
        /// Whose tool it is, if it is one of a server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote: Option<Remote>,
    },
    /// What a call is about to do.
    Intent {
        /// The call's id.
        call: String,
        /// A sentence for each effect.
        effects: Vec<String>,
    },
    /// What the policy says to it.
    Verdict {
        /// The call's id.
        call: String,
        /// The word.
        verdict: Ruling,
        /// Why.
        why: Vec<String>,
        /// Which rule or default says so.
        by: String,
    },
    /// Somebody is asked.
    Asked {
        /// The call's id.
        call: String,
        /// Why.
        why: Vec<String>,
    },
    /// Somebody answered.
    Decided {
        /// The call's id.
        call: String,
        /// What they said, as `docs/pipe.md` names it.
        decision: String,
        /// Who: a person, a program, a time that ran out.
        by: String,
    },
    /// The call is about to touch the machine.
    Attempt {
        /// The call's id.
        call: String,
        /// From one; a call may be tried again with more rights.
        number: u64,
        /// What confines it.
        enforcement: String,
    },
    /// What the model is told about a call.
    Answered {
        /// The call's id.
        call: String,
        /// Whether it did what it should.
        success: bool,
        /// The kind of fault, if it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// How long it took.
        took_ms: u64,
        /// The words of the answer.
        text: String,
        /// The pictures of the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<Picture>,
        /// Where all of the output is, if the answer holds only a part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spilled: Option<Spilled>,
    },
    /// All of an output that was too long for its answer, once it was read through.
    Kept {
        /// The call's id.
        call: String,
        /// The file.
        path: String,
        /// SHA-256 of its bytes, in hexadecimal.
        sha256: String,
        /// How many there are.
        bytes: u64,
    },
    /// The plan is now this.
    Plan {
        /// All of its steps.
        steps: Vec<Step>,
    },
    /// What a turn changed in files.
    Diff {
        /// As git writes it.
        text: String,
    },
    /// What a request to the model took.
    Usage {
        /// Tokens that were sent.
        input_tokens: u64,
        /// Those of them that were known already.
        cached_tokens: u64,
        /// Tokens that came back.
        output_tokens: u64,
        /// Bytes of the request.
        request_bytes: u64,
        /// How long the model took.
        model_ms: u64,
    },
    /// The conversation was shortened.
    Compacted {
        /// What stands for what is gone.
        summary: String,
        /// How many items are gone.
        dropped: u64,
    },
    /// The session is that of an agent which another session started.
    Agent {
        /// What it is called there, and what those above it are called: `a1`, `a1/a2`.
        path: String,
        /// The session that started it.
        of: String,
    },
    /// Something was added to what was asked; a prompt follows when the model reads it.
    Added {
        /// What.
        text: String,
    },
    /// A turn is over.
    Turn {
        /// What it is called: `t` and the number of the line with its prompt.
        id: String,
        /// How it ended, in a word, as `docs/run.md` names it.
        ended: String,
        /// More of that, if it was not as it should be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A turn was stopped before its end.
    Interrupted {
        /// By what.
        why: String,
    },
    /// Something that a reader should know.
    Notice {
        /// The words.
        text: String,
    },
    /// The session is over.
    End {
        /// Why.
        why: String,
    },
    /// What a newer program wrote. It can be read, and not written.
    #[serde(untagged)]
    Unknown(Value),
}

/// A picture, known by its hash: its bytes are not in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Such as `image/png`.
    pub mime: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// How many there are.
    pub bytes: u64,
}

/// Output that was too long for an answer, in a file of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spilled {
    /// The file.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// How many there are.
    pub bytes: u64,
}

/// The tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    /// What the server is called here.
    pub server: String,
    /// What the server calls the tool.
    pub tool: String,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What is to be done.
    pub step: String,
    /// Such as `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// How a model called a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// With arguments in JSON.
    Function,
    /// With free text.
    Custom,
    /// As the shell that some models were trained with.
    LocalShell,
    /// With arguments in JSON, for a tool of a server.
    Mcp,
    /// By a program and not by the model, with arguments in JSON.
    Client,
    /// The same with free text.
    ClientText,
}

/// What the policy says to an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// It may be done.
    Allow,
    /// Somebody must say yes first.
    Ask,
    /// It may not be done.
    Forbid,
}
