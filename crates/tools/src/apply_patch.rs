//! `apply_patch`: applies a patch to files, completely or not at all.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use patch::{CommitMilestone, CommitStep, DiskTree, FileChange, MountedRoot, ParsedPatch, PatchPlan};
use policy::shell::PatchCommand;
use policy::{Denial, Effect, Intent, Permit, ReadScope, WorkspaceView};
use serde_json::json;
use tool::{
    Args, BadArguments, Cx, ErrorHints, FreeformSpec, JsonSchema, StrictMode, TakenOverCall, TextGrammar,
    ToolCall, ToolError, ToolHandler, ToolNotice, ToolOutput, ToolPayload, ToolSpec, WorkingDir,
};

use crate::edit_tracker::EditTracker;
use crate::git_layout::find_git_layout;
use crate::private_files::PrivateFiles;
use crate::write_file::{CalledAs, WRITE_FILE};

const ABOUT: &str =
    "Changes files: all of the patch, or nothing. ` ` is context, `-` removes a line, `+` adds one. \
Give three lines of context, and `@@ ` with a line above (a function, a class) where that is not unique.

*** Begin Patch
*** Update File: src/greet.py
@@ def greet(name):
     name = name.strip()
-    print(\"Hi \" + name)
+    print(f\"Hello, {name}!\")
*** Add File: docs/new.md
+# A new file
*** Delete File: old.txt
*** End Patch

`*** Move to: new/path` after an Update line renames. Git diffs work too.";

/// Advice to the model about a hard-linked file.
const HARD_LINK_HINT: &str = "write the whole file with a command (`cat > FILE`), which changes it under all of its names, or \
ask the user which they want";

/// Bytes of all changed files up to which the user who watches gets a diff.
const MAX_SHOWN_BYTES: usize = 1 << 20;
const GRAMMAR: TextGrammar = TextGrammar { syntax: "lark", definition: patch::GRAMMAR };

/// The `apply_patch` tool.
pub(crate) struct ApplyPatch(pub(crate) Arc<EditTracker>);

/// The arguments: a patch in any of its forms.
pub(crate) struct ApplyPatchArgs {
    /// The patch as the model wrote it.
    text: String,
    patch: ParsedPatch,
    /// The argument that holds the patch.
    argument: &'static str,
    called_as: CalledAs,
    /// The plan that the user was shown when asked.
    shown_plan: OnceLock<PatchPlan>,
}

impl Args for ApplyPatchArgs {
    fn schema() -> JsonSchema {
        JsonSchema::default()
    }

    fn spec(name: &str, about: &str, _: StrictMode) -> ToolSpec {
        let (name, description) = (name.to_owned(), about.to_owned());
        ToolSpec::Freeform(FreeformSpec { name, description, grammar: GRAMMAR })
    }

    fn parse_payload(
        payload: &ToolPayload,
        _: &JsonSchema,
        _: &[(&str, &str)],
    ) -> Result<Self, BadArguments> {
        Self::parse(payload, CalledAs::ApplyPatch)
    }

    fn parse_call(call: &ToolCall, _: &JsonSchema, _: &[(&str, &str)]) -> Result<Self, BadArguments> {
        Self::parse(&call.payload, CalledAs::from_name(&call.name))
    }
}

impl ApplyPatchArgs {
    fn parse(payload: &ToolPayload, called_as: CalledAs) -> Result<Self, BadArguments> {
        let argument = patch_argument(payload);
        called_as.check_arguments(payload)?;
        let text = payload.arguments().into_owned();
        let patch = patch::parse(&text)
            .map_err(|fault| BadArguments::Value { path: argument.to_owned(), why: fault.to_string() })?;
        Ok(Self { text, patch, argument, called_as, shown_plan: OnceLock::new() })
    }

    /// Returns the absolute path of every file of the patch, each once.
    fn absolute_paths(&self, working_dir: &WorkingDir) -> Result<Vec<PathBuf>, ToolError> {
        let mut paths = Vec::new();
        for path in self.patch.paths() {
            let absolute = working_dir.resolve_path(self.argument, path)?;
            if !paths.contains(&absolute) {
                paths.push(absolute);
            }
        }
        Ok(paths)
    }
}

impl ToolHandler for ApplyPatch {
    type Args = ApplyPatchArgs;
    const NAME: &'static str = "apply_patch";
    const ABOUT: &'static str = ABOUT;
    const ALIASES: &'static [&'static str] = &["applypatch", "edit_file", WRITE_FILE];

    fn intent(&self, args: &ApplyPatchArgs, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        let paths = args.absolute_paths(working_dir)?;
        Ok(Intent::from_effects(paths.into_iter().map(Effect::Write).collect()))
    }

    /// Takes over a command that only applies a patch.
    fn takes_over(&self, intent: &Intent) -> Option<TakenOverCall> {
        let exec = intent.command()?;
        let PatchCommand { directory, text } = exec.analysis().patch.clone()?;
        let cwd = policy::normalize_path(&exec.cwd().join(directory.unwrap_or_default()));
        let payload = ToolPayload::Custom { input: text };
        Some(TakenOverCall { payload, working_dir: WorkingDir { cwd } })
    }

    async fn preview(&self, args: &ApplyPatchArgs, preview_permit: &Permit, cx: &Cx) -> Option<String> {
        let (patch, permit, working_dir) =
            (args.patch.clone(), preview_permit.clone(), cx.working_dir().clone());
        let planned = cx.run_blocking(move |_| {
            let read_scope = Arc::clone(permit.read_scope());
            let (disk, denied) =
                open_tree(&working_dir, &Arc::clone(&read_scope), move |real| read_scope.check_read(real))?;
            let (located, spelling) = PathSpelling::relocate(&patch, &permit, &working_dir)?;
            let plan = PatchPlan::build(&located, &disk).map_err(|failure| failure.to_string());
            let plan = plan.and_then(|plan| {
                disk.check_steps(&plan.commit_steps()).map(|()| plan).map_err(|refusal| refusal.what)
            });
            Ok(match plan {
                Ok(plan) => Ok((spelling.restore_plan(&plan).diff(), plan)),
                Err(why) if denied.lock().is_none() => Err(Some(spelling.restore_text(&why))),
                Err(_) => Err(None),
            })
        });
        match planned.await.ok()? {
            Ok((diff, plan)) => {
                // The first preview is the one that the user approved.
                let _shown_before = args.shown_plan.set(plan);
                Some(diff)
            }
            Err(Some(failure)) => Some(format!("As things are it cannot be applied:\n{failure}")),
            // The files may not be read yet, so only the model's own text can be shown.
            Err(None) => Some(args.text.clone()),
        }
    }

    async fn run(&self, args: &ApplyPatchArgs, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        for path in args.absolute_paths(cx.working_dir())? {
            permit.may_write(&path).map_err(ToolError::Forbidden)?;
        }
        let work = PatchWork {
            patch: args.patch.clone(),
            permit: permit.clone(),
            cx: cx.clone(),
            edit_tracker: Arc::clone(&self.0),
            shown_plan: args.shown_plan.get().cloned(),
            called_as: args.called_as,
        };
        let mut work = std::pin::pin!(cx.run_blocking(move |stop| {
            if stop.is_requested() {
                return Err(ToolError::io("nothing was changed: the call was given up"));
            }
            work.apply()
        }));
        // A started patch is finished and reported as it is: it takes a moment.
        tokio::select! {
            biased;
            done = &mut work => done,
            _ = cx.wait_for_halt() => work.await,
        }
    }
}

/// Returns the argument that holds the patch, as it was sent; empty if several do.
fn patch_argument(payload: &ToolPayload) -> &'static str {
    let ToolPayload::Function { arguments } = payload else { return "input" };
    let sent: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
    match &sent {
        serde_json::Value::Object(sent) => {
            let is_sent = |name: &&str| sent.get(*name).is_some_and(|value| !value.is_null());
            ["input", "patch", "files"].into_iter().find(is_sent).unwrap_or("")
        }
        // The patch itself, without JSON around it.
        _ => "input",
    }
}

/// The data that the worker thread needs.
struct PatchWork {
    patch: ParsedPatch,
    permit: Permit,
    cx: Cx,
    edit_tracker: Arc<EditTracker>,
    shown_plan: Option<PatchPlan>,
    called_as: CalledAs,
}

impl PatchWork {
    fn apply(self) -> Result<ToolOutput, ToolError> {
        let Self { patch, permit, cx, edit_tracker, shown_plan, called_as } = self;
        let refused = |why: &str| ToolOutput::failure(format!("{}\n{why}", called_as.refusal_text()));
        let (disk, denied) = open_writable_tree(cx.working_dir(), &permit)?;
        let (patch, spelling) = PathSpelling::relocate(&patch, &permit, cx.working_dir())?;
        let blocked = || take_denial(&denied).map(ToolError::Blocked);
        let plan = match PatchPlan::build(&patch, &disk) {
            Ok(plan) => plan,
            Err(failure) => {
                let mut why = failure.to_string();
                add_failure_hints(
                    &mut why,
                    &patch,
                    |path| is_stale(&edit_tracker, &disk, path),
                    &permit,
                    cx.hints(),
                );
                return blocked().map_or_else(|| Ok(refused(&spelling.restore_text(&why))), Err);
            }
        };
        if shown_plan.is_some_and(|shown| shown != plan) {
            return Ok(refused(
                "a file has changed since the user was shown what would become of it; try again",
            ));
        }
        let paths = plan.changes.iter().map(|change| change.path.as_str());
        let stale = paths.filter(|path| is_stale(&edit_tracker, &disk, path));
        let stale: Vec<String> = stale.map(|path| spelling.original_path(path)).collect();
        let steps = plan.commit_steps();
        if let Some(why) = git_layout_refusal(&steps, &permit, cx.cwd()) {
            return Ok(refused(&why));
        }
        let kinds: HashMap<&str, char> =
            plan.listed_changes().map(|change| (change.path.as_str(), change.status_letter())).collect();
        let mut on_milestone = |milestone: CommitMilestone<'_>| {
            let CommitMilestone::Placed(step) = milestone else { return };
            if let Some(kind) = kinds.get(step.path.as_str()) {
                cx.notify(ToolNotice::FileChanged { kind: *kind, path: spelling.original_path(&step.path) });
            }
        };
        match disk.commit_with(&steps, &edit_tracker.records_dir, &mut on_milestone) {
            Ok(()) => {}
            Err(refusal) => {
                return blocked().map_or_else(|| Ok(refused(&spelling.restore_text(&refusal.what))), Err);
            }
        }
        for change in &plan.changes {
            record_change(&edit_tracker, &disk, change);
        }
        let left = plan.changes.iter().filter(|change| change.after.is_some());
        let private_files = PrivateFiles::among(left.map(|change| change.path.as_str()), permit.read_scope());
        let notes: Vec<String> =
            stale.iter().map(|path| stale_note(path)).chain(private_files.note_lines()).collect();
        let host_file_notes = host_file_notes(&plan, &permit, cx.cwd(), &spelling);
        let plan = spelling.restore_plan(&plan);
        let mut output = build_output(&plan, called_as, &notes, &host_file_notes);
        output.facts.diff = (cx.is_watched() && is_small(&plan)).then(|| plan.diff());
        Ok(output)
    }
}

/// Returns true if the changes are worth a diff for the user who watches.
fn is_small(plan: &PatchPlan) -> bool {
    let contents = plan.changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
    contents.map(|content| content.bytes.len()).sum::<usize>() <= MAX_SHOWN_BYTES
}

/// Returns a note for each changed file that has an effect on the user's machine.
fn host_file_notes(plan: &PatchPlan, permit: &Permit, cwd: &Path, spelling: &PathSpelling) -> Vec<String> {
    let note = |change: &FileChange| {
        let real = permit.read_scope().real_path(&cwd.join(&change.path));
        Some(permit.host_file(&real)?.describe_change(&spelling.original_path(&change.path)))
    };
    plan.listed_changes().filter_map(note).collect()
}

/// Adds the reasons why the author of the patch may have expected other files.
fn add_failure_hints(
    why: &mut String,
    patch: &ParsedPatch,
    is_stale: impl Fn(&str) -> bool,
    permit: &Permit,
    hints: &ErrorHints,
) {
    for path in patch.paths().filter(|path| is_stale(path)) {
        let _ = write!(why, "\n`{path}` has changed since you read it; read it again");
    }
    // The file may exist on the host, where the author of the patch has seen it.
    let scope = permit.read_scope();
    if let Some(dir) = patch.paths().find_map(|path| scope.private_directory(Path::new(path))) {
        let _ = write!(why, "\n{}", hints.explain(&dir));
    }
}

/// Returns the reason for refusing `steps` if they would turn a directory into a git directory.
pub(crate) fn git_layout_refusal(steps: &[CommitStep], permit: &Permit, cwd: &Path) -> Option<String> {
    let directory = find_git_layout(steps, cwd, &permit.confinement()?.writable)?;
    let name = directory.display();
    Some(format!(
        "git would take `{name}` for a repository of its own, with HEAD, objects and refs in it; make one with `git init` in a command"
    ))
}

/// Takes the recorded denial, if there is one.
pub(crate) fn take_denial(denied: &SharedDenial) -> Option<Denial> {
    denied.lock().take()
}

/// Opens the tree that `permit` allows to change.
pub(crate) fn open_writable_tree(
    working_dir: &WorkingDir,
    permit: &Permit,
) -> Result<(DiskTree, SharedDenial), ToolError> {
    let judge = permit.clone();
    open_tree(working_dir, permit.read_scope(), move |real| check_may_edit(&judge, real))
}

/// The first denial of the judge, shared with the tree.
pub(crate) type SharedDenial = Arc<Mutex<Option<Denial>>>;

/// Opens the tree that `judge` lets a patch touch.
fn open_tree(
    working_dir: &WorkingDir,
    read_scope: &ReadScope,
    judge: impl Fn(&Path) -> Result<(), Denial> + Send + Sync + 'static,
) -> Result<(DiskTree, SharedDenial), ToolError> {
    let denied = SharedDenial::default();
    let first_denial = Arc::clone(&denied);
    let opened = DiskTree::open_at(&working_dir.cwd).and_then(|disk| match read_scope.view() {
        Some(view) => disk.with_mounted_roots(mounted_roots(&**view)?),
        None => Ok(disk),
    });
    let disk = opened.map_err(|fault| {
        ToolError::io(format!("`{}` cannot be opened: {fault}", working_dir.cwd.display()))
    })?;
    let disk = disk.with_hard_link_hint(HARD_LINK_HINT).with_access_check(Arc::new(move |real, _access| {
        judge(real).map_err(|denial| {
            let why = denial.to_string();
            first_denial.lock().get_or_insert(denial);
            why
        })
    }));
    Ok((disk, denied))
}

/// Opens the directories of a view.
fn mounted_roots(view: &dyn WorkspaceView) -> std::io::Result<Vec<MountedRoot>> {
    let open =
        |path: &std::path::PathBuf| Ok(MountedRoot { path: path.clone(), directory: view.open_root(path)? });
    view.roots().iter().map(open).collect()
}

/// Checks that the file at the real path `real` may be edited: everywhere that commands may write, except inside
/// `.git`. Files in `.git` decide what git does for the user, so they need approval even where a command could change
/// them.
fn check_may_edit(permit: &Permit, real: &Path) -> Result<(), Denial> {
    permit.may_change(real)?;
    let Some(confinement) = permit.confinement() else { return Ok(()) };
    // A root may be such a directory itself: then the user has granted it.
    let below = confinement.writable.iter().filter_map(|root| real.strip_prefix(root).ok());
    let below = below.min_by_key(|below| below.components().count());
    let is_git = |part: std::path::Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    match below.is_some_and(|below| below.components().any(is_git)) {
        true => Err(Denial::MayNotWrite { path: real.to_owned(), roots: confinement.writable.clone() }),
        false => Ok(()),
    }
}

/// Maps real paths back to the spelling in the patch: `/tmp` may be a private directory of the session.
struct PathSpelling {
    /// Pairs of real path and spelling.
    relocated: Vec<(String, String)>,
}

impl PathSpelling {
    /// Returns the patch with every path replaced by its real location, and the mapping back.
    fn relocate(
        patch: &ParsedPatch,
        permit: &Permit,
        working_dir: &WorkingDir,
    ) -> Result<(ParsedPatch, Self), ToolError> {
        let mut patch = patch.clone();
        let (mut fault, mut relocated) = (None, Vec::new());
        patch.rename_paths(|path| match working_dir.resolve_path("input", path) {
            Ok(absolute) => {
                let real = permit.read_scope().real_path(&absolute);
                // A path with `..` is written out in full: the user who approved it knows where it leads.
                let climbs = path.split('/').any(|part| part == "..");
                if real == absolute && !climbs {
                    return path.to_owned();
                }
                let real = real.to_string_lossy().into_owned();
                relocated.push((real.clone(), path.to_owned()));
                real
            }
            Err(error) => {
                fault.get_or_insert(error);
                path.to_owned()
            }
        });
        fault.map_or(Ok((patch, Self { relocated })), Err)
    }

    /// Returns the path as the patch spells it.
    fn original_path(&self, path: &str) -> String {
        let spelled = self.relocated.iter().find(|(real, _)| real == path).map(|(_, spelled)| spelled);
        spelled.map_or(path, String::as_str).to_owned()
    }

    /// Returns the plan with the patch's spellings.
    fn restore_plan(&self, plan: &PatchPlan) -> PatchPlan {
        let mut plan = plan.clone();
        for change in &mut plan.changes {
            change.path = self.original_path(&change.path);
            change.from = change.from.as_ref().map(|from| self.original_path(from));
        }
        plan.already_applied = plan.already_applied.iter().map(|path| self.original_path(path)).collect();
        plan
    }

    /// Returns `text` with the patch's spellings.
    fn restore_text(&self, text: &str) -> String {
        let restore = |text: String, (real, spelled): &(String, String)| {
            text.replace(&format!("`{real}`"), &format!("`{spelled}`"))
        };
        self.relocated.iter().fold(text.to_owned(), restore)
    }
}

fn is_stale(edit_tracker: &EditTracker, disk: &DiskTree, path: &str) -> bool {
    disk.file_version(path).is_some_and(|(real, stamp)| edit_tracker.is_stale(&real, stamp))
}

fn record_change(edit_tracker: &EditTracker, disk: &DiskTree, change: &FileChange) {
    if let Some((real, stamp)) = disk.file_version(&change.path) {
        edit_tracker.record_write(&real, stamp);
    }
}

fn stale_note(path: &str) -> String {
    format!("`{path}` had changed since you read it; what you did not name is as it was")
}

/// Builds the output that reports the changes.
fn build_output(
    plan: &PatchPlan,
    called_as: CalledAs,
    notes: &[String],
    host_file_notes: &[String],
) -> ToolOutput {
    let begun = if plan.changes.is_empty() { "Nothing was changed:" } else { "Applied:" };
    let mut text = format!("{begun}\n{}", called_as.summarize(plan.clone()));
    for line in notes {
        let _ = write!(text, "\n{line}");
    }
    if plan
        .changes
        .iter()
        .flat_map(|change| &change.landed_hunks)
        .any(|(_, pass)| pass.ignored_difference().is_some())
    {
        text.push_str("\nLook whether what was overlooked is as you meant it.");
    }
    for sentence in host_file_notes {
        let _ = write!(text, "\n{sentence}");
    }
    let file = |change: &FileChange| json!({"kind": change.status_letter().to_string(), "path": change.path, "from": change.from});
    let files: Vec<_> = plan.listed_changes().map(file).collect();
    ToolOutput::text(text).with_structured(json!({"changes": files}))
}
