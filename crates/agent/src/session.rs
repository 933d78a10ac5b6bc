//! One conversation: what it needs, and what it holds between turns.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use engine::ToolRouter;
use journal::{Entry, JournalFault};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{ErrorKind, Facts, ToolOutput};
use wire::{Reasoning, Request, Style, Usage};

use crate::history::{History, Piece};
use crate::resume::turn_id;
use crate::{Agents, Ended, Gauge, Model, Recorder, Resumed, Watch};

/// What a call is told that was running when the program died.
const INTERRUPTED: &str = "interrupted; effects unknown: the program ended while this ran. Look at what is there before you run it again.";

/// The answer to a call that was running when the program died.
pub(crate) fn interrupted() -> ToolOutput {
    let facts = Facts { error: Some(ErrorKind::Cancelled), ..Facts::default() };
    ToolOutput { facts, ..ToolOutput::failure(INTERRUPTED) }
}

/// How far a turn may go.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests to the model in one turn.
    pub rounds: usize,
    /// Tokens that the model can read.
    pub context: u64,
    /// Tokens that it may write in one response; its own limit if there is none.
    pub output: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rounds: 500, context: 200_000, output: None }
    }
}

/// Says what a turn changed in files.
pub type Changed = Box<dyn FnMut() -> Option<String> + Send + Sync>;
/// Resolves when something is known.
pub type Ready = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// What a session is made of.
pub struct Setup {
    /// Where calls go.
    pub router: ToolRouter,
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// What the provider calls the model.
    pub name: String,
    /// What it is told before anything else.
    pub instructions: String,
    /// How tools are written for it.
    pub style: Style,
    /// What becomes of its thoughts.
    pub reasoning: Reasoning,
    /// Where it is written down; nowhere if there is none.
    pub recorder: Option<Arc<Recorder>>,
    /// Who watches.
    pub watch: Arc<dyn Watch>,
    /// How far a turn may go.
    pub limits: Limits,
    /// Says at the end of a turn what it changed in files.
    pub changed: Option<Changed>,
    /// Resolves when it is known what files there were before: no call is started earlier.
    pub ready: Option<Ready>,
    /// Knows how long the conversation is.
    pub gauge: Arc<Gauge>,
    /// Those that the model may start: they stop when its turn is stopped.
    pub agents: Option<Arc<Agents>>,
    /// Keeps requests on machines that have the conversation in their cache.
    pub cache_key: Option<String>,
}

/// One conversation with a model.
pub struct Session {
    pub(crate) setup: Setup,
    pub(crate) history: History,
    pub(crate) handle: Handle,
    steered: mpsc::UnboundedReceiver<String>,
    /// The tools as a request has them, and of which names they are.
    tools: (Vec<String>, String),
    /// What the last response cost, and how many bytes the conversation had then.
    pub(crate) last: Option<(Usage, usize)>,
}

/// Reaches a session while it works.
#[derive(Clone)]
pub struct Handle {
    turn: Arc<Mutex<Turn>>,
    steer: mpsc::UnboundedSender<String>,
    /// Not held: a journal is given up with its session, whoever can still reach that.
    recorder: Option<Weak<Recorder>>,
}

/// The turn that runs, or ran last.
#[derive(Default)]
struct Turn {
    stop: CancellationToken,
    /// What it is called.
    id: String,
    /// It is announced, and has not begun.
    awaited: bool,
}

impl Handle {
    /// Stops the turn: its calls are answered as aborted.
    pub fn interrupt(&self) {
        self.lock().stop.cancel();
    }

    /// What the turn is called that runs, or ran last.
    pub fn turn_id(&self) -> String {
        self.lock().id.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn is about to begin: whoever interrupts from now on means that one.
    pub fn announce(&self) {
        *self.lock() = Turn { awaited: true, ..Turn::default() };
    }

    /// Adds to what was asked: the model reads it with its next request. It is written down, so that it is not lost with the program.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn steer(&self, text: String) -> Result<(), JournalFault> {
        if let Some(recorder) = self.recorder.as_ref().and_then(Weak::upgrade) {
            recorder.write(&Entry::Added { text: text.clone() })?;
        }
        // A session that is gone reads nothing.
        let _gone = self.steer.send(text);
        Ok(())
    }

    /// Begins a turn, which an interrupt does not stop that came before it was announced.
    pub(crate) fn begin(&self) -> CancellationToken {
        let mut turn = self.lock();
        if !std::mem::take(&mut turn.awaited) {
            *turn = Turn::default();
        }
        turn.stop.clone()
    }

    /// Says what the turn is called.
    pub(crate) fn named(&self, id: String) {
        self.lock().id = id;
    }

    /// The turn that runs.
    pub(crate) fn turn(&self) -> CancellationToken {
        self.lock().stop.clone()
    }
}

impl Session {
    /// A new conversation, or one that goes on: calls that were running when it ended are answered so.
    ///
    /// # Errors
    /// If that cannot be written down.
    pub fn new(setup: Setup, resumed: Option<Resumed>) -> Result<Self, JournalFault> {
        let Resumed { pieces, lost, added, mut cut_off, .. } = resumed.unwrap_or_default();
        let mut history = History::new(setup.model.dialect(), pieces);
        if let Some(recorder) = &setup.recorder {
            for call in &lost {
                recorder.answered(call, &interrupted())?;
            }
            // What was added, and never read, is asked for all the same.
            for text in &added {
                let number = recorder.write(&Entry::Prompt { text: text.clone(), images: Vec::new() })?;
                cut_off.get_or_insert(turn_id(number));
            }
            if let Some(id) = cut_off {
                let detail = Some("the program ended while it ran".to_owned());
                recorder.write(&Entry::Turn { id, ended: Ended::Interrupted.as_str().to_owned(), detail })?;
            }
        }
        history.answer(&lost, INTERRUPTED);
        added.into_iter().for_each(|text| history.push(Piece::User { text, images: Vec::new() }));
        let (steer, steered) = mpsc::unbounded_channel();
        let handle =
            Handle { turn: Arc::default(), steer, recorder: setup.recorder.as_ref().map(Arc::downgrade) };
        Ok(Self { setup, history, handle, steered, tools: Default::default(), last: None })
    }

    /// Reaches it while it works.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// What was added to what was asked when the turn was over already.
    pub fn added(&mut self) -> Option<String> {
        self.steered()
    }

    /// Writes an entry, if there is where.
    pub(crate) fn write(&self, entry: &Entry) -> Result<u64, JournalFault> {
        self.setup.recorder.as_ref().map_or(Ok(0), |recorder| recorder.write(entry))
    }

    /// What was added to what was asked, since somebody looked last.
    pub(crate) fn steered(&mut self) -> Option<String> {
        self.steered.try_recv().ok()
    }

    /// The next request.
    pub(crate) fn body(&mut self) -> String {
        self.refresh();
        self.request(self.history.entries(), &self.tools.1)
    }

    /// A request that carries `items` and offers `tools`.
    pub(crate) fn request(&self, items: &[wire::Entry], tools: &str) -> String {
        self.setup.model.dialect().request(&Request {
            model: &self.setup.name,
            instructions: &self.setup.instructions,
            items,
            tools,
            max_output_tokens: self.setup.limits.output,
            cache_key: self.setup.cache_key.as_deref(),
            reasoning: self.setup.reasoning,
        })
    }

    /// Writes the tools anew if some have come or gone.
    fn refresh(&mut self) {
        let registry = self.setup.router.registry();
        let names = registry.names();
        if self.tools.1.is_empty() || self.tools.0 != names {
            let specs = registry.specs();
            let specs: Vec<&tool::ToolSpec> = specs.iter().collect();
            let tools = self.setup.model.dialect().tools(&specs, &self.setup.style);
            self.tools = (names, tools.to_string());
        }
    }

    /// The same at the beginning of a turn, when they may also have changed.
    pub(crate) fn forget_tools(&mut self) {
        self.tools.1.clear();
    }

    /// How many bytes of a request are not the conversation.
    pub(crate) fn overhead(&self) -> usize {
        self.setup.instructions.len() + self.tools.1.len()
    }
}
