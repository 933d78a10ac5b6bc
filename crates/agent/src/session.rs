//! One conversation: its setup, its state between turns, and the handle that controls it.

use std::pin::Pin;
use std::sync::{Arc, Weak};

use engine::{SharedCancelCause, ToolRouter};
use journal::{JournalEntry, JournalFault};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{BoxFuture, CancelCause, OutputFacts, ToolErrorKind, ToolOutput};
use wire::{ApiCompat, ReasoningMode, TokenUsage};

use crate::history::{ConversationHistory, HistoryItem};
use crate::resume::turn_id;
use crate::{
    ContextMeter, INSTRUCTIONS, JournalRecorder, ModelBackend, ResumedSession, RunBudget, SessionAgents,
    SessionObserver, TurnEnd,
};

/// Answer to a call that was running when the program died.
const INTERRUPTED_ANSWER: &str = "interrupted; effects unknown: the program ended while this ran. Look at what is there before you run it again.";

/// Returns the answer to a call that was running when the program died.
pub(crate) fn interrupted_output() -> ToolOutput {
    let facts = OutputFacts { error: Some(ToolErrorKind::Cancelled), ..OutputFacts::default() };
    ToolOutput { facts, ..ToolOutput::failure(INTERRUPTED_ANSWER) }
}

/// Limits of a turn.
#[derive(Debug, Clone)]
pub struct TurnLimits {
    /// Maximum model requests in one turn.
    pub rounds: usize,
    /// Context window of the model, in tokens.
    pub context: u64,
    /// Maximum output tokens of one response; the model's own limit if `None`.
    pub output: Option<u64>,
    /// The budget of all turns together.
    pub budget: Arc<RunBudget>,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { rounds: 500, context: 200_000, output: None, budget: Arc::default() }
    }
}

/// Waits for what every turn needs. The error says what is missing.
pub type TurnPrecondition = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Returns the file changes of a turn as a diff.
pub type TurnChangesFn = Box<dyn FnMut() -> Option<String> + Send + Sync>;
/// Resolves when the file baseline is known.
pub type BaselineReady = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// The parts that a session is built from.
pub struct AgentSessionSetup {
    /// Executes the calls.
    pub router: ToolRouter,
    /// The model.
    pub model: Arc<dyn ModelBackend>,
    /// The provider's name for the model.
    pub model_name: String,
    /// System instructions.
    pub instructions: String,
    /// Serialisation options for the tool list.
    pub api_compat: ApiCompat,
    /// Handling of the model's reasoning output.
    pub reasoning: ReasoningMode,
    /// Writes the journal; there is no journal if `None`.
    pub recorder: Option<Arc<JournalRecorder>>,
    /// Observes the session.
    pub observer: Arc<dyn SessionObserver>,
    /// Limits of a turn.
    pub limits: TurnLimits,
    /// Returns the file changes at the end of a turn.
    pub turn_changes: Option<TurnChangesFn>,
    /// Resolves when the state of the files before the turn is known. No call starts earlier.
    pub baseline_ready: Option<BaselineReady>,
    /// Publishes the length of the conversation.
    pub context_meter: Arc<ContextMeter>,
    /// Agents that the model can start. They are interrupted with its turn.
    pub agents: Option<Arc<SessionAgents>>,
    /// Routes requests to servers that have the conversation in their prompt cache.
    pub cache_key: Option<String>,
    /// Resolves before each turn, with the reason if the turn must not begin.
    pub precondition: Option<TurnPrecondition>,
}

impl AgentSessionSetup {
    /// Returns the parts of a session with Toolgate's own instructions and default limits, without journal and observer.
    pub fn new(router: ToolRouter, model: Arc<dyn ModelBackend>, model_name: impl Into<String>) -> Self {
        Self {
            router,
            model,
            model_name: model_name.into(),
            instructions: INSTRUCTIONS.to_owned(),
            api_compat: ApiCompat::default(),
            reasoning: ReasoningMode::default(),
            recorder: None,
            observer: Arc::new(()),
            limits: TurnLimits::default(),
            turn_changes: None,
            baseline_ready: None,
            context_meter: Arc::default(),
            agents: None,
            cache_key: None,
            precondition: None,
        }
    }
}

/// One conversation with a model.
pub struct AgentSession {
    pub(crate) setup: AgentSessionSetup,
    pub(crate) history: ConversationHistory,
    pub(crate) handle: SessionHandle,
    steering_receiver: mpsc::UnboundedReceiver<String>,
    /// The serialised tool list, and the tool names that it was made from.
    pub(crate) tools: (Vec<String>, String),
    /// Token usage of the last response, and the conversation's size in bytes at that time.
    pub(crate) last_usage: Option<(TokenUsage, usize)>,
}

/// Controls a session while it runs.
#[derive(Clone)]
pub struct SessionHandle {
    turn: Arc<Mutex<CurrentTurn>>,
    steering_sender: mpsc::UnboundedSender<String>,
    /// A weak reference: the journal closes with its session even if handles remain.
    recorder: Option<Weak<JournalRecorder>>,
    /// The cause that the router's answers name.
    cancel_cause: SharedCancelCause,
}

/// The current turn, or the last one.
#[derive(Default)]
struct CurrentTurn {
    stop: CancellationToken,
    /// Its id.
    id: String,
    /// The turn is announced and has not begun.
    announced: bool,
}

impl SessionHandle {
    /// Stops the turn for the user. Its calls are answered as aborted.
    pub fn interrupt(&self) {
        self.turn.lock().stop.cancel();
    }

    /// Stops the turn. The answers of its calls and the journal name the cause.
    pub fn interrupt_because(&self, cause: CancelCause) {
        self.cancel_cause.set(cause);
        self.interrupt();
    }

    /// Returns the id of the current turn, or of the last one.
    pub fn turn_id(&self) -> String {
        self.turn.lock().id.clone()
    }

    /// Announces a turn: from now on `interrupt` means this turn.
    pub fn announce_turn(&self) {
        *self.turn.lock() = CurrentTurn { announced: true, ..CurrentTurn::default() };
        self.cancel_cause.set(CancelCause::User);
    }

    /// Adds input to the running turn; the model reads it with its next request. The journal records it, so a crash
    /// does not lose it.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn steer(&self, text: String) -> Result<(), JournalFault> {
        if let Some(recorder) = self.recorder.as_ref().and_then(Weak::upgrade) {
            recorder.write(&JournalEntry::Added { text: text.clone() })?;
        }
        // A session that has ended reads nothing.
        let _gone = self.steering_sender.send(text);
        Ok(())
    }

    /// Begins a turn. Interrupts from before its announcement do not stop it.
    pub(crate) fn begin_turn(&self) -> CancellationToken {
        let mut turn = self.turn.lock();
        if !std::mem::take(&mut turn.announced) {
            *turn = CurrentTurn::default();
            self.cancel_cause.set(CancelCause::User);
        }
        turn.stop.clone()
    }

    /// Sets the id of the turn.
    pub(crate) fn set_turn_id(&self, id: String) {
        self.turn.lock().id = id;
    }

    /// Returns the stop token of the current turn.
    pub(crate) fn stop_token(&self) -> CancellationToken {
        self.turn.lock().stop.clone()
    }
}

impl AgentSession {
    /// Starts a new conversation, or continues a resumed one. Calls that were running when it ended get an
    /// "interrupted" answer.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn new(setup: AgentSessionSetup, resumed: Option<ResumedSession>) -> Result<Self, JournalFault> {
        let ResumedSession { items, lost_calls, unread_input, mut interrupted_turn, .. } =
            resumed.unwrap_or_default();
        let mut history = ConversationHistory::new(setup.model.dialect(), items);
        if let Some(recorder) = &setup.recorder {
            for call in &lost_calls {
                recorder.record_answer(call, &interrupted_output())?;
            }
            // Steering input that the model never read becomes part of the conversation.
            for text in &unread_input {
                let number =
                    recorder.write(&JournalEntry::Prompt { text: text.clone(), images: Vec::new() })?;
                interrupted_turn.get_or_insert(turn_id(number));
            }
            if let Some(id) = interrupted_turn {
                let detail = Some("the program ended while it ran".to_owned());
                recorder.write(&JournalEntry::Turn {
                    id,
                    ended: TurnEnd::Interrupted.as_str().to_owned(),
                    detail,
                })?;
            }
        }
        history.answer_calls(&lost_calls, INTERRUPTED_ANSWER);
        unread_input
            .into_iter()
            .for_each(|text| history.push(HistoryItem::User { text, images: Vec::new() }));
        let (steering_sender, steering_receiver) = mpsc::unbounded_channel();
        let handle = SessionHandle {
            turn: Arc::default(),
            steering_sender,
            recorder: setup.recorder.as_ref().map(Arc::downgrade),
            cancel_cause: setup.router.cancel_cause().clone(),
        };
        Ok(Self { setup, history, handle, steering_receiver, tools: Default::default(), last_usage: None })
    }

    /// Returns a handle that controls the session while it runs.
    pub fn handle(&self) -> SessionHandle {
        self.handle.clone()
    }

    /// Returns the name of the model.
    pub fn model_name(&self) -> &str {
        &self.setup.model_name
    }

    /// Requests another model of the same provider from now on. The journal does not record it.
    pub fn set_model(&mut self, name: String, reasoning: ReasoningMode) {
        (self.setup.model_name, self.setup.reasoning) = (name, reasoning);
    }

    /// Leaves the file changes since the last turn out of the next turn's diff: the user made them.
    pub fn forget_file_changes(&mut self) {
        let _made_by_the_user = self.setup.turn_changes.as_mut().and_then(|changed| changed());
    }

    /// Takes steering input that arrived after the turn was over.
    pub fn take_late_input(&mut self) -> Option<String> {
        self.take_steered_input()
    }

    /// Writes a journal entry, if there is a journal.
    pub(crate) fn write_entry(&self, entry: &JournalEntry) -> Result<u64, JournalFault> {
        self.setup.recorder.as_ref().map_or(Ok(0), |recorder| recorder.write(entry))
    }

    /// Takes the next unread steering input.
    pub(crate) fn take_steered_input(&mut self) -> Option<String> {
        self.steering_receiver.try_recv().ok()
    }
}
