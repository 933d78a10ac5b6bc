//! `toolgate run`: a model works, with somebody watching.

mod book;
mod commands;
mod desk;
mod foot;
mod json;
mod keys;
mod lines;
mod model;
mod plain;
mod project;
mod talk;
pub(crate) mod title;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agent::{
    AgentFault, Ended, Gauge, GetContextRemaining, GetMemory, Limits, ListMemories, Memories, Person,
    Remember, RequestUserInput, Session, Setup, Watch,
};
use toolgate::mcp::{Means, Servers};
use toolgate::{Approver, Hook, Image, Observer, Toolgate};

use crate::approve::TerminalApprover;
use crate::args::Run;
use crate::compose::{Composed, compose_in};
use crate::config::{Config, Dirs, Setting, Source};
use crate::fault::Fault;
use crate::servers::{self, Told};
use crate::turns::Turns;
use book::{About, Book};
use desk::Desk;
use lines::Lines;
pub(crate) use model::Chosen;
use talk::{Talk, signals};

/// Shows a session to somebody.
pub(crate) trait Show: Watch + Observer {
    /// A session begins.
    fn began(&self, session: &str, journal: &str, model: &str, resumed: bool);
    /// A turn is over.
    fn ended(&self, ended: &Result<Ended, String>);
    /// Some time has passed.
    fn tick(&self) {}
    /// Somebody else is about to write to the screen.
    fn gives_way(&self) {}
    /// Somebody is to type a line.
    fn invites(&self) {}
    /// They have typed so much of it.
    fn typing(&self, _line: &str) {}
    /// They have typed it.
    fn typed(&self, _line: &str) {}
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
    let show = shown(args.json);
    let (prompt, images) = (prompt(args)?, pictures(args)?);
    let composed = compose_in(&args.place, dirs.clone(), one_shell)?;
    let chosen = chosen.map_or_else(|| model::chosen(args, composed.model()), Ok)?;
    let about = About::of(&composed, &chosen);
    let book = Book::open(dirs.sessions.clone(), args.resume.as_deref(), about)?;
    let (desk, gauge) = (Arc::new(Desk::beside(&show)), Arc::<Gauge>::default());
    let sits = person.is_some() && std::io::stdin().is_terminal();
    let person_asked = sits.then(|| Arc::clone(&desk) as Arc<dyn Person>);
    let mut composed = with_own_tools(composed, person_asked, &gauge, dirs.state.as_deref())
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
        let lines = sits.then(|| Lines::typed(&show, session.handle())).transpose()?;
        let (shown, tools) = (Arc::clone(&show), &toolgate);
        let mut talk =
            Talk { session, show: shown, person, lines, desk, toolgate: tools, dirs, ended: "done" };
        let (ended, stopped) = tokio::select! {
            ended = talk.turns(prompt, images) => (ended, None),
            code = signals => (Ok(ExitCode::from(code)), Some("stopped")),
        };
        let why = stopped.unwrap_or(talk.ended);
        drop(talk);
        show.gives_way();
        book::close(&book.recorder, why).map_err(unwritten)?;
        tokio::join!(report(book.recorder.path()), closed(&toolgate, servers));
        ended
    })
}

fn shown(to_programs: bool) -> Arc<dyn Show> {
    if to_programs { Arc::new(json::JsonLines) } else { Arc::new(plain::Plain::new()) }
}

/// Ends what still runs.
async fn closed(toolgate: &Toolgate, servers: Option<Arc<Servers>>) {
    toolgate.close().await;
    servers::ended(servers).await;
}

/// Tells a collector of telemetry what happened, if there is one.
#[cfg(feature = "otlp")]
async fn report(journal: &Path) {
    crate::otlp::report(journal).await;
}

/// Tells nobody what happened.
#[cfg(not(feature = "otlp"))]
async fn report(_: &Path) {}

/// Adds the tools that only a session can have.
fn with_own_tools(
    composed: Composed,
    person: Option<Arc<dyn Person>>,
    gauge: &Arc<Gauge>,
    state: Option<&Path>,
) -> Composed {
    let composed = composed.tool(RequestUserInput(person)).tool(GetContextRemaining(Arc::clone(gauge)));
    let Some(state) = state else { return composed };
    let memories = Arc::new(Memories::new(state, composed.cwd()));
    composed
        .tool(Remember(Arc::clone(&memories)))
        .tool(GetMemory(Arc::clone(&memories)))
        .tool(ListMemories(memories))
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

fn pictures(args: &Run) -> Result<Vec<Image>, Fault> {
    args.image.iter().map(|file| picture(file)).collect()
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
    let context = args.context.unwrap_or(built_in.context);
    Limits { rounds: rounds.unwrap_or(built_in.rounds), context, ..built_in }
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

/// A model that has `exec_command` needs no other shell: each tool that it is told of costs it room in every request.
fn one_shell(config: &mut Config) {
    if config.tools.only.is_empty() {
        let leaves = |name: &str| Setting { value: name.to_owned(), source: Source::BuiltIn };
        config.tools.without.extend(["shell", "shell_command"].map(leaves));
    }
}
