//! `toolgate run`: a model works, with somebody watching.

mod book;
mod desk;
mod json;
mod lines;
mod model;
mod plain;
mod project;
pub(crate) mod title;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agent::{
    AgentFault, Ended, Gauge, GetContextRemaining, GetMemory, Handle, Limits, ListMemories, Memories, Person,
    Remember, RequestUserInput, Session, Setup, Watch,
};
use journal::Entry;
use tokio::signal::unix::{SignalKind, signal};
use toolgate::mcp::Means;
use toolgate::{Approver, Hook, Image, Observer, Toolgate};

use crate::approve::TerminalApprover;
use crate::args::Run;
use crate::compose::compose_in;
use crate::config::{Config, Dirs, Setting, Source};
use crate::fault::{Fault, INTERRUPTED, TERMINATED};
use crate::screen;
use crate::servers::{self, Told};
use crate::turns::Turns;
use book::{About, Book};
use desk::Desk;
use lines::{Lines, Typed};
pub(crate) use model::Chosen;

/// The exit status when it took as many requests as it may.
const OUT_OF_ROUNDS: u8 = 3;
/// How often whoever watches is told that something takes long.
const TICK: Duration = Duration::from_millis(500);

/// Shows a session to somebody.
pub(crate) trait Show: Watch + Observer {
    /// A session begins.
    fn began(&self, session: &str, journal: &str, model: &str, resumed: bool);
    /// A turn is over.
    fn ended(&self, ended: &Result<Ended, String>);
    /// Some time has passed.
    fn tick(&self) {}
}

/// Whose files, which model, and who is asked.
pub(crate) struct Scene {
    pub(crate) dirs: Dirs,
    /// The one that the command line means if there is none.
    pub(crate) chosen: Option<Chosen>,
    /// Who sits at the terminal.
    pub(crate) person: Option<Arc<TerminalApprover>>,
    /// Who is asked; where there is nobody, what would be asked is refused.
    pub(crate) approver: Option<Arc<dyn Approver>>,
}

pub(crate) fn run(args: &Run) -> Result<ExitCode, Fault> {
    let person = if args.json { None } else { TerminalApprover::here() };
    let approver = person.clone().map(|person| person as Arc<dyn Approver>);
    play(args, Scene { dirs: Dirs::from_env()?, chosen: None, person, approver })
}

/// Plays a scene.
pub(crate) fn play(args: &Run, scene: Scene) -> Result<ExitCode, Fault> {
    let Scene { dirs, chosen, person, approver } = scene;
    let show: Arc<dyn Show> =
        if args.json { Arc::new(json::JsonLines) } else { Arc::new(plain::Plain::new()) };
    let prompt = prompt(args)?;
    let images = args.image.iter().map(|file| picture(file)).collect::<Result<Vec<_>, _>>()?;
    let composed = compose_in(&args.place, dirs.clone(), one_shell)?;
    let chosen = chosen.map_or_else(|| model::chosen(args, composed.model()), Ok)?;
    let about = About {
        cwd: composed.cwd().display().to_string(),
        model: chosen.name.clone(),
        dialect: chosen.model.dialect(),
        sandbox: composed.sandbox_name(),
        approval: composed.approval_name(),
    };
    let book = Book::open(dirs.sessions, args.resume.as_deref(), about)?;
    let (desk, gauge) = (Arc::new(Desk::default()), Arc::<Gauge>::default());
    let sits = person.is_some() && std::io::stdin().is_terminal();
    let mut composed = composed
        .tool(RequestUserInput(sits.then(|| Arc::clone(&desk) as Arc<dyn Person>)))
        .tool(GetContextRemaining(Arc::clone(&gauge)));
    if let Some(state) = &dirs.state {
        let memories = Arc::new(Memories::new(state, composed.cwd()));
        composed = composed
            .tool(Remember(Arc::clone(&memories)))
            .tool(GetMemory(Arc::clone(&memories)))
            .tool(ListMemories(memories));
    }
    composed = composed
        .observed(Arc::clone(&book.recorder) as Arc<dyn Observer>)
        .hooked(Arc::clone(&book.recorder) as Arc<dyn Hook>)
        .observed(Arc::clone(&show) as Arc<dyn Observer>);
    if let Some(approver) = approver {
        composed = composed.asking(approver);
    }
    super::block_on(async {
        let style = composed.style();
        let means = Means { watch: Some(Arc::new(Told::Wrong)), ..Means::default() };
        let (composed, servers) = composed.serving(means, |_| true)?;
        let toolgate = composed.build()?;
        let (changed, ready) = changes(&toolgate, dirs.state.as_deref());
        let journal = book.recorder.path().display().to_string();
        show.began(book.id.as_str(), &journal, &chosen.name, book.resumed.is_some());
        let setup = Setup {
            router: toolgate.router().clone(),
            model: chosen.model,
            name: chosen.name,
            instructions: project::instructions(toolgate.router().gate(), &toolgate.router().place().cwd),
            style,
            reasoning: chosen.reasoning,
            recorder: Some(Arc::clone(&book.recorder)),
            watch: Arc::clone(&show) as Arc<dyn Watch>,
            limits: limits(args),
            changed: Some(changed),
            ready: Some(ready),
            gauge,
            cache_key: Some(book.id.as_str().to_owned()),
        };
        let session = Session::new(setup, book.resumed).map_err(unwritten)?;
        let signals = signals(session.handle())?;
        let lines = sits.then(|| Lines::typed(person.clone())).transpose()?;
        let mut talk = Talk { session, show, person, lines, desk, toolgate: &toolgate, state: dirs.state };
        let ended = tokio::select! {
            ended = talk.turns(prompt, images) => ended,
            code = signals => Ok(ExitCode::from(code)),
        };
        let why = if ended.is_ok() { "done" } else { "failed" };
        book.recorder.write(&Entry::End { why: why.to_owned() }).map_err(unwritten)?;
        book.recorder.flush().map_err(unwritten)?;
        toolgate.close().await;
        servers::ended(servers).await;
        ended
    })
}

/// What is asked for first; nothing if somebody is to be asked.
fn prompt(args: &Run) -> Result<Option<String>, Fault> {
    match args.prompt.as_deref() {
        Some("-") => super::call::read(Path::new("-")).map(Some),
        Some(prompt) => Ok(Some(prompt.to_owned())),
        None if std::io::stdin().is_terminal() && !args.json => Ok(None),
        None => Err(Fault::usage("what should be done? there is no prompt")
            .hint("toolgate run 'fix the failing test'; or `-` to read it from standard input")),
    }
}

#[expect(clippy::disallowed_methods, reason = "the user named this file, not a model")]
fn picture(file: &Path) -> Result<Image, Fault> {
    let wrong = |why: &str| Fault::usage(format!("the picture `{}` {why}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    let mime = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return Err(wrong("is none that models read: there are png, jpeg, gif and webp")),
    };
    Ok(Image { mime, bytes })
}

fn limits(args: &Run) -> Limits {
    let built_in = Limits::default();
    let rounds = args.max_turns.and_then(|rounds| usize::try_from(rounds).ok());
    Limits { rounds: rounds.unwrap_or(built_in.rounds), ..built_in }
}

type Changed = Box<dyn FnMut() -> Option<String> + Send>;
type Ready = toolgate::BoxFuture<'static, ()>;

/// Says what turns change, and when it knows what there was before: looking takes a while, and nobody has to wait for it but calls.
fn changes(toolgate: &Toolgate, state: Option<&Path>) -> (Changed, Ready) {
    let shared = Arc::new(std::sync::Mutex::new(None::<Turns>));
    let (inside, toolgate, state) = (Arc::clone(&shared), toolgate.clone(), state.map(Path::to_owned));
    #[expect(clippy::disallowed_methods, reason = "no call: it looks at files while the model thinks")]
    let looking = tokio::task::spawn_blocking(move || {
        let turns = Turns::begin(&toolgate, state.as_deref());
        *inside.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(turns);
    });
    let changed = move || {
        let mut turns = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tokio::task::block_in_place(|| turns.as_mut()?.end()).map(|turn| turn.text)
    };
    let ready = async move {
        let _looked = looking.await;
    };
    (Box::new(changed), Box::pin(ready))
}

/// The first Ctrl-C stops the turn; the second, and whoever ends us, ends the program. With which exit status.
fn signals(handle: Handle) -> Result<impl Future<Output = u8>, Fault> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        let mut last: Option<std::time::Instant> = None;
        // ends: with the second of two in a row
        loop {
            tokio::select! {
                _ = interrupt.recv() => {
                    let twice = last.is_some_and(|last| last.elapsed() < Duration::from_secs(2));
                    handle.interrupt();
                    if twice {
                        return INTERRUPTED;
                    }
                    last = Some(std::time::Instant::now());
                }
                _ = terminate.recv() => return TERMINATED,
                _ = hangup.recv() => return TERMINATED,
            }
        }
    })
}

fn unwritten(fault: journal::JournalFault) -> Fault {
    Fault::failed(AgentFault::from(fault).to_string())
}

/// How a turn ended, in a word.
fn word(ended: &Ended) -> &'static str {
    match ended {
        Ended::Done => "done",
        Ended::CutShort { .. } => "cut_short",
        Ended::Interrupted => "interrupted",
        Ended::OutOfRounds => "max_turns",
    }
}

/// A session and whoever talks to it.
struct Talk<'a> {
    session: Session,
    show: Arc<dyn Show>,
    person: Option<Arc<TerminalApprover>>,
    /// What is typed; nothing if nobody sits there.
    lines: Option<Lines>,
    desk: Arc<Desk>,
    toolgate: &'a Toolgate,
    state: Option<PathBuf>,
}

impl Talk<'_> {
    /// One turn if a prompt was given; else as many as somebody wants.
    async fn turns(&mut self, prompt: Option<String>, mut images: Vec<Image>) -> Result<ExitCode, Fault> {
        if let Some(prompt) = prompt {
            return self.turn(&prompt, images).await.map(code);
        }
        // ends: when nothing more is typed
        loop {
            screen::prompt();
            let line = match &mut self.lines {
                Some(lines) => lines.next().await,
                None => None,
            };
            let Some(line) = line else { return Ok(ExitCode::SUCCESS) };
            match Typed::of(&line) {
                Typed::Nothing => {}
                Typed::Quit => return Ok(ExitCode::SUCCESS),
                Typed::Command(command) => lines::obey(command, self.toolgate, self.state.as_deref())?,
                Typed::Prompt(prompt) => {
                    if let Err(fault) = self.turn(prompt, std::mem::take(&mut images)).await {
                        fault.report();
                    }
                }
            }
        }
    }

    async fn turn(&mut self, prompt: &str, images: Vec<Image>) -> Result<Ended, Fault> {
        let (show, handle, person) = (Arc::clone(&self.show), self.session.handle(), self.person.clone());
        let (desk, lines) = (Arc::clone(&self.desk), &mut self.lines);
        let asks = move || person.as_ref().is_some_and(|person| person.asks());
        let mut ticks = tokio::time::interval(TICK);
        let ended = {
            let turn = self.session.prompt(prompt, images);
            tokio::pin!(turn);
            // ends: with the turn
            loop {
                tokio::select! {
                    biased;
                    ended = &mut turn => break ended,
                    Some(line) = async { lines.as_mut()?.next().await }, if lines.is_some() => {
                        // It answers a question, or it is one more thing to heed.
                        if let Some(line) = desk.take(line).filter(|line| !line.trim().is_empty()) {
                            handle.steer(line);
                        }
                    }
                    _ = ticks.tick() => if !asks() { show.tick() },
                }
            }
        };
        self.toolgate.end_turn();
        let told = ended.as_ref().map(Clone::clone).map_err(ToString::to_string);
        self.show.ended(&told);
        ended.map_err(|fault| Fault::failed(fault.to_string()))
    }
}

/// A model that has `exec_command` needs no other shell: each tool that it is told of costs it room in every request.
fn one_shell(config: &mut Config) {
    if config.tools.only.is_empty() {
        let leaves = |name: &str| Setting { value: name.to_owned(), source: Source::BuiltIn };
        config.tools.without.extend(["shell", "shell_command"].map(leaves));
    }
}

fn code(ended: Ended) -> ExitCode {
    match ended {
        Ended::Done => ExitCode::SUCCESS,
        Ended::CutShort { .. } => ExitCode::FAILURE,
        Ended::Interrupted => ExitCode::from(INTERRUPTED),
        Ended::OutOfRounds => ExitCode::from(OUT_OF_ROUNDS),
    }
}
