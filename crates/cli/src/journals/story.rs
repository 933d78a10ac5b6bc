//! What happened in a session: the lines of its journal put together, each call with all that became of it.

use std::path::Path;

use journal::{JournalFault, Records, Ruling, Torn};
use toolgate::wire::Words;

use super::excerpt::{Excerpt, Shears};
use super::tell::Teller;

/// Lines of a journal that are put together.
pub(crate) const MAX_LINES: usize = 200_000;

/// A session.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) moments: Vec<Moment>,
    /// When its first line was written; empty if there is none.
    pub(crate) started: String,
    /// Milliseconds from its beginning to its end, without what passed between turns.
    pub(crate) length: u64,
    pub(crate) ending: Ending,
}

/// How its journal ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    #[default]
    Whole,
    /// While a line was written.
    Torn(Torn),
    /// With a line that is not as it was written, or cannot be read.
    Broken(String),
    /// There are more lines than anybody reads.
    TooLong,
}

/// Something that happened.
#[derive(Debug)]
pub(crate) struct Moment {
    /// The number of its line.
    pub(crate) seq: u64,
    /// Milliseconds after the beginning, without what passed between turns.
    pub(crate) after: u64,
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum What {
    Session(Box<Setting>),
    Prompt {
        text: Excerpt,
        images: usize,
    },
    Said(Vec<Speech>),
    Call(Box<Call>),
    Plan(Vec<Step>),
    Diff(Excerpt),
    Usage(Usage),
    Compacted {
        summary: Excerpt,
        dropped: u64,
    },
    Interrupted(Excerpt),
    Notice(Excerpt),
    End(Excerpt),
    /// A word about a call that nobody made: its kind, and the call's id.
    Stray {
        kind: &'static str,
        call: String,
    },
    /// What a newer program wrote, by its kind.
    Foreign(String),
}

/// Under what a session began, or went on.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) version: String,
    pub(crate) cwd: Excerpt,
    pub(crate) model: String,
    pub(crate) wire: String,
    pub(crate) sandbox: String,
    pub(crate) approval: String,
    pub(crate) resumed: bool,
}

/// A piece of what the model said.
#[derive(Debug)]
pub(crate) enum Speech {
    Text(Excerpt),
    Thought(Excerpt),
    Other(String),
}

/// A call, and what became of it.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    /// The server and its name for the tool.
    pub(crate) remote: Option<(String, String)>,
    pub(crate) arguments: Excerpt,
    pub(crate) effects: Vec<Excerpt>,
    pub(crate) course: Course,
    pub(crate) answer: Option<Answer>,
}

/// How it was decided about a call, and how often it was tried.
#[derive(Debug, Default)]
pub(crate) struct Course {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) questions: Vec<Question>,
    pub(crate) attempts: Vec<Attempt>,
}

/// What the policy said.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) ruling: Ruling,
    pub(crate) why: Vec<Excerpt>,
    pub(crate) by: String,
}

/// What somebody was asked.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) why: Vec<Excerpt>,
    pub(crate) asked: u64,
    pub(crate) decision: Option<Decision>,
}

/// What they said.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) word: String,
    pub(crate) by: String,
    pub(crate) after: u64,
}

/// One time that a call touched the machine.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) number: u64,
    pub(crate) after: u64,
    pub(crate) enforcement: String,
}

/// What the model was told.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) after: u64,
    pub(crate) success: bool,
    pub(crate) error: Option<String>,
    pub(crate) took: u64,
    pub(crate) text: Excerpt,
    pub(crate) pictures: usize,
    /// Where all of the output is, and how many bytes it has.
    pub(crate) spilled: Option<(Excerpt, u64)>,
}

/// A step of a plan.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) step: Excerpt,
    pub(crate) status: String,
}

/// What a request to the model took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
    pub(crate) bytes: u64,
    pub(crate) millis: u64,
}

impl Story {
    /// Reads a journal as far as it is as it was written.
    pub(crate) fn read(path: &Path, shears: Shears) -> Result<Self, JournalFault> {
        let mut records = Records::open(path)?;
        let mut teller = Teller::new(shears);
        for record in records.by_ref().take(MAX_LINES) {
            match record {
                Ok(record) => teller.take(&record),
                Err(fault) => return Ok(teller.end(Ending::Broken(told(&fault)))),
            }
        }
        let ending = match (records.torn(), records.next()) {
            (Some(torn), _) => Ending::Torn(torn),
            (None, None) => Ending::Whole,
            (None, Some(_)) => Ending::TooLong,
        };
        Ok(teller.end(ending))
    }

    /// Its calls, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&Moment, &Call)> {
        self.moments.iter().filter_map(|moment| Some((moment, moment.call()?)))
    }

    /// How often the user said something.
    pub(crate) fn prompts(&self) -> usize {
        self.moments.iter().filter(|moment| moment.is_prompt()).count()
    }

    /// What all requests to the model took.
    pub(crate) fn usage(&self) -> (u64, Usage) {
        let mut sum = (0, Usage::default());
        for moment in &self.moments {
            if let What::Usage(usage) = &moment.what {
                sum.0 += 1;
                sum.1.add(usage);
            }
        }
        sum
    }
}

impl Moment {
    /// The call, if this is one.
    pub(crate) fn call(&self) -> Option<&Call> {
        if let What::Call(call) = &self.what { Some(call) } else { None }
    }

    /// Whether the user said something.
    pub(crate) fn is_prompt(&self) -> bool {
        matches!(self.what, What::Prompt { .. })
    }
}

impl Usage {
    /// Adds another one to it.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.input, other.input),
            (&mut self.cached, other.cached),
            (&mut self.output, other.output),
            (&mut self.bytes, other.bytes),
            (&mut self.millis, other.millis),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl Call {
    /// Whether it did what it should, as far as anybody knows.
    pub(crate) fn is_well(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.success)
    }

    /// Milliseconds that people took to answer questions about it.
    pub(crate) fn waited(&self) -> u64 {
        let took =
            |question: &Question| Some(question.decision.as_ref()?.after.saturating_sub(question.asked));
        self.course.questions.iter().filter_map(took).fold(0, u64::saturating_add)
    }

    /// Milliseconds that it took itself, if it was answered: without those who were asked, whether or not the journal
    /// counts them in.
    pub(crate) fn ran(&self, began: u64) -> Option<u64> {
        let answer = self.answer.as_ref()?;
        let passed = answer.after.saturating_sub(began).saturating_sub(self.waited());
        // The clock of the journal has only milliseconds, and stands still where that of the machine went back.
        Some(if self.course.questions.is_empty() { answer.took } else { answer.took.min(passed) })
    }
}

impl Answer {
    /// The kind of its fault; nothing if there is none.
    pub(crate) fn fault(&self) -> Option<&str> {
        if self.success { None } else { Some(self.error.as_deref().unwrap_or("unsuccessful")) }
    }
}

impl Speech {
    pub(super) fn of(words: &Words, shears: &mut Shears) -> Self {
        match words {
            Words::Text(text) => Self::Text(shears.cut(text)),
            Words::Thought(text) => Self::Thought(shears.cut(text)),
            Words::Other(kind) => Self::Other(super::excerpt::name(kind)),
        }
    }
}

/// What is wrong with a journal, without its path: whoever prints this has named it.
pub(crate) fn told(fault: &JournalFault) -> String {
    match fault {
        JournalFault::Broken { broken, .. } => broken.to_string(),
        JournalFault::Unusable { source, .. } => format!("it cannot be read: {source}"),
        fault => fault.to_string(),
    }
}
