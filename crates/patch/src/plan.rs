//! A patch and a tree → what each file will be: all of it worked out before anything is written.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::edit::{Action, Edit, Hunk, Line, Patch, Target};
use crate::fault::{Failure, Fault};
use crate::matching::{Landing, Miss, Pass, Placed, is_in, place};
use crate::replace::{Replaced, replace};
use crate::rewrite::{Endings, rewrite};
use crate::text::Text;
use crate::tree::{Held, Put, Stamp, Step, Tree};

/// Hunks of one file: each is looked for in all of it.
const MOST_HUNKS: usize = 5_000;

/// What a patch does to a tree, worked out and not yet done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Each file that changes, in the patch's order. None: all of it is done already.
    pub changes: Vec<Change>,
    /// Files that are as the patch wants them already.
    pub already: Vec<String>,
}

/// What happens to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file, as the patch spells it.
    pub path: String,
    /// The file it comes from, if it is moved or copied.
    pub from: Option<String>,
    /// It is moved, so that the other goes.
    pub moved: bool,
    /// What was there.
    pub before: Option<Content>,
    /// What will be there.
    pub after: Option<Content>,
    /// Where the patch's hunks landed, by lines of the old file from 1, and what was overlooked for it.
    pub landed: Vec<(usize, Pass)>,
    found: Option<Stamp>,
}

/// A file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Whether it can be run.
    pub executable: bool,
}

impl Change {
    /// `A`dded, `M`odified, `D`eleted or `R`enamed.
    pub fn letter(&self) -> char {
        match (&self.before, &self.after) {
            (_, None) => 'D',
            _ if self.moved => 'R',
            (None, Some(_)) => 'A',
            (Some(_), Some(_)) => 'M',
        }
    }
}

impl Plan {
    /// Works out what `patch` does to `tree`. All that is in the way is told at once.
    ///
    /// ```
    /// use toolgate_patch::{Memory, Plan, parse};
    /// let tree = Memory::of([("a.txt", "one\ntwo\n")]);
    /// let patch = parse("*** Begin Patch\n*** Update File: a.txt\n-two\n+three\n*** End Patch\n").unwrap();
    /// let plan = Plan::of(&patch, &tree).unwrap();
    /// assert_eq!(plan.changes[0].after.as_ref().unwrap().bytes, b"one\nthree\n");
    /// ```
    pub fn of(patch: &Patch, tree: &dyn Tree) -> Result<Self, Failure> {
        let mut planning = Planning { tree, files: Vec::new(), by_real: HashMap::new(), gone: Vec::new() };
        let mut faults = Vec::new();
        for edit in &patch.edits {
            if let Err(more) = planning.edit(edit) {
                faults.extend(more);
            }
        }
        let already: Vec<String> =
            planning.files.iter().filter(|file| file.is_done()).map(|file| file.path.clone()).collect();
        let changes: Vec<Change> = planning.files.into_iter().filter_map(File::change).collect();
        // What is gone may be gone because the patch was applied, if the rest of it was.
        if !changes.is_empty() || already.is_empty() {
            faults.extend(planning.gone);
        }
        if !faults.is_empty() {
            return Err(Failure { faults });
        }
        if changes.is_empty() && already.is_empty() {
            let what = "the patch changes no file; name at least one".to_owned();
            return Err(Failure { faults: vec![Fault { path: String::new(), line: 0, what, detail: None }] });
        }
        Ok(Self { changes, already })
    }

    /// What has to be done for it, all or nothing.
    pub fn steps(&self) -> Vec<Step> {
        let step = |change: &Change| {
            let like = change.from.clone().or(change.before.is_some().then(|| change.path.clone()));
            let put = change.after.as_ref().map(|after| Put {
                bytes: after.bytes.clone(),
                executable: Some(after.executable),
                like,
            });
            Step { path: change.path.clone(), found: change.found, put }
        };
        self.changes.iter().map(step).collect()
    }
}

/// A file while the patch is worked out.
struct File {
    path: String,
    from: Option<String>,
    moved: bool,
    found: Option<Held>,
    now: Option<Content>,
    landed: Vec<(usize, Pass)>,
    /// The patch only looks at it.
    bystander: bool,
}

impl File {
    fn is_done(&self) -> bool {
        !self.bystander && self.is_as_found()
    }

    fn is_as_found(&self) -> bool {
        match (&self.found, &self.now) {
            (None, None) => true,
            (Some(held), Some(now)) => held.executable == now.executable && held.bytes == now.bytes,
            _ => false,
        }
    }

    /// Whether another file has come in its place.
    fn is_replaced(&self) -> bool {
        self.from.is_some() && self.found.is_some()
    }

    fn before(&self) -> Option<Content> {
        self.found.as_ref().map(|held| Content { bytes: held.bytes.clone(), executable: held.executable })
    }

    fn change(self) -> Option<Change> {
        if self.is_as_found() {
            return None;
        }
        let Self { path, from, moved, found: held, now: after, landed, .. } = self;
        let found = held.as_ref().map(|held| held.stamp);
        let before = held.map(|held| Content { bytes: held.bytes, executable: held.executable });
        Some(Change { path, from, moved, before, after, landed, found })
    }
}

struct Planning<'a> {
    tree: &'a dyn Tree,
    files: Vec<File>,
    by_real: HashMap<PathBuf, usize>,
    /// Files that should go and are not there.
    gone: Vec<Fault>,
}

type Faults = Vec<Fault>;

impl Planning<'_> {
    /// The file at `path`, as the patch so far leaves it.
    fn file(&mut self, edit: &Edit, path: &str) -> Result<usize, Faults> {
        let spot = self.tree.look(path).map_err(|refusal| {
            // It begins with the name, as a fault does.
            let what = refusal.what.strip_prefix(&format!("`{path}` ")).unwrap_or(&refusal.what).to_owned();
            vec![Fault::at(edit, path, what)]
        })?;
        if let Some(index) = self.by_real.get(&spot.real) {
            return Ok(*index);
        }
        let now =
            spot.file.as_ref().map(|held| Content { bytes: held.bytes.clone(), executable: held.executable });
        let (path, landed) = (path.to_owned(), Vec::new());
        self.files.push(File {
            path,
            from: None,
            moved: false,
            found: spot.file,
            now,
            landed,
            bystander: true,
        });
        self.by_real.insert(spot.real, self.files.len() - 1);
        Ok(self.files.len() - 1)
    }

    fn edit(&mut self, edit: &Edit) -> Result<(), Faults> {
        let index = self.file(edit, &edit.path)?;
        match &edit.action {
            Action::Write { content, executable } => {
                let file = &mut self.files[index];
                let like = file.now.as_ref();
                let executable = executable.or(like.map(|now| now.executable)).unwrap_or(false);
                let bytes = like
                    .map_or_else(|| content.clone().into_bytes(), |now| written_like(content, &now.bytes));
                file.now = Some(Content { bytes, executable });
                file.bystander = false;
                Ok(())
            }
            Action::Delete { hunks } => self.delete(edit, index, hunks),
            Action::Replace { old, new, all } => self.replace(edit, index, (old, new), *all),
            Action::Update { hunks, target, executable } => {
                self.update(edit, index, hunks, target, *executable)
            }
        }
    }

    fn delete(&mut self, edit: &Edit, index: usize, hunks: &[Hunk]) -> Result<(), Faults> {
        let Some(now) = &self.files[index].now else {
            let what = "does not exist, so it cannot be deleted".to_owned();
            self.gone.push(Fault::at(edit, &edit.path, what));
            return Ok(());
        };
        if !hunks.is_empty() {
            let (new, _) = updated(edit, &now.bytes, hunks)?;
            if !new.is_empty() {
                let what =
                    "has lines that the patch does not delete; update it, or delete it as a whole".to_owned();
                return Err(vec![Fault::at(edit, &edit.path, what)]);
            }
        }
        let file = &mut self.files[index];
        (file.now, file.bystander) = (None, false);
        Ok(())
    }

    fn replace(
        &mut self,
        edit: &Edit,
        index: usize,
        (old, new): (&str, &str),
        all: bool,
    ) -> Result<(), Faults> {
        let file = &mut self.files[index];
        file.bystander = false;
        let Some(now) = &mut file.now else {
            if !old.is_empty() {
                return Err(vec![missing(edit)]);
            }
            file.now = Some(Content { bytes: new.as_bytes().to_vec(), executable: false });
            return Ok(());
        };
        if old.is_empty() {
            if now.bytes.is_empty() || now.bytes == new.as_bytes() {
                now.bytes = new.as_bytes().to_vec();
                return Ok(());
            }
            let what =
                "exists, and the text to replace is empty; give the text that is to be replaced".to_owned();
            return Err(vec![Fault::at(edit, &edit.path, what)]);
        }
        let text = legible(edit, &now.bytes)?;
        match replace(&text, old, new, all) {
            Ok(Replaced::Already) => Ok(()),
            Ok(Replaced::New(whole, landed)) => {
                now.bytes = text
                    .write(whole)
                    .map_err(|fault| vec![Fault::at(edit, &edit.path, fault.to_string())])?;
                file.landed.extend(landed.into_iter().map(|(at, pass)| (at + 1, pass)));
                Ok(())
            }
            Err(miss) => {
                let hunk = crate::replace::hunk(old, new);
                Err(vec![Fault::missed(edit, &text, None, &hunk, &miss)])
            }
        }
    }

    fn update(
        &mut self,
        edit: &Edit,
        index: usize,
        hunks: &[Hunk],
        target: &Target,
        executable: Option<bool>,
    ) -> Result<(), Faults> {
        let file = &self.files[index];
        // What another edit has put in its place, or a copy does not mean, is not what the patch speaks of.
        let first = file.is_replaced() || matches!(target, Target::Copied(_));
        let before = first.then(|| file.before()).flatten();
        let Some(now) = (if first { before.as_ref() } else { file.now.as_ref() }) else {
            return self.moved_already(edit, hunks, target);
        };
        let (bytes, landed) = if hunks.is_empty() {
            (now.bytes.clone(), Vec::new())
        } else {
            updated(edit, &now.bytes, hunks)?
        };
        let new = Content { bytes, executable: executable.unwrap_or(now.executable) };
        let (to, moves) = match target {
            Target::Same => (index, false),
            Target::Moved(to) => (self.file(edit, to)?, true),
            Target::Copied(to) => (self.file(edit, to)?, false),
        };
        if to != index {
            if moves && !self.files[index].is_replaced() {
                self.files[index].now = None;
                self.files[index].bystander = false;
            }
            self.files[to].from = Some(edit.path.clone());
            self.files[to].moved = moves;
        }
        let file = &mut self.files[to];
        file.now = Some(new);
        file.landed.extend(landed);
        file.bystander = false;
        Ok(())
    }

    /// The file is not there: either it was moved by this very patch, or the patch is wrong.
    fn moved_already(&mut self, edit: &Edit, hunks: &[Hunk], target: &Target) -> Result<(), Faults> {
        let Target::Moved(to) = target else { return Err(vec![missing(edit)]) };
        let index = self.file(edit, to)?;
        let file = &mut self.files[index];
        let done = file
            .now
            .as_ref()
            .is_some_and(|now| updated(edit, &now.bytes, hunks).is_ok_and(|(bytes, _)| bytes == now.bytes));
        if !done || hunks.is_empty() {
            return Err(vec![missing(edit)]);
        }
        file.bystander = false;
        Ok(())
    }
}

fn missing(edit: &Edit) -> Fault {
    let what = "does not exist; check the path, or add it as a new file".to_owned();
    Fault::at(edit, &edit.path, what)
}

fn legible(edit: &Edit, bytes: &[u8]) -> Result<Text, Faults> {
    Text::read(bytes).map_err(|fault| vec![Fault::at(edit, &edit.path, fault.to_string())])
}

/// Where hunks landed, by lines from 1, and what was overlooked for it.
type Places = Vec<(usize, Pass)>;

/// The bytes after `hunks`, and where they landed.
fn updated(edit: &Edit, bytes: &[u8], hunks: &[Hunk]) -> Result<(Vec<u8>, Places), Faults> {
    if hunks.len() > MOST_HUNKS {
        let what = format!("has {} hunks, and {MOST_HUNKS} are the most; send them in parts", hunks.len());
        return Err(vec![Fault::at(edit, &edit.path, what)]);
    }
    let text = legible(edit, bytes)?;
    let says = hunks.iter().find(|hunk| hunk.old_bare || hunk.new_bare);
    let unnumbered = hunks.iter().all(|hunk| hunk.at.is_none());
    let endings = Endings { bare: says.map(|hunk| hunk.new_bare), first: unnumbered };
    let placed = place(&text, hunks);
    let sure = |placed: &Placed| !matches!(placed, Placed::Here(pass, _) if *pass > Pass::Trailing);
    let is_sure = placed.as_ref().is_ok_and(|placed| placed.iter().all(sure));
    let turned = if is_sure { None } else { in_turn(&text, hunks, endings) };
    let (whole, places) = match turned {
        Some(done) => done,
        None => {
            let placed = placed.map_err(|misses| missed(edit, &text, hunks, misses))?;
            let landings: Vec<(Pass, &Landing)> = placed.iter().filter_map(landing).collect();
            if landings.is_empty() {
                return Ok((bytes.to_vec(), Vec::new()));
            }
            let all: Vec<&Landing> = landings.iter().map(|(_, landing)| *landing).collect();
            let places = landings.iter().map(|(pass, landing)| (first(landing), *pass)).collect();
            let whole = rewrite(&text, &all, endings);
            let misses = if all.len() < hunks.len() {
                revived(&text, &text.rewritten(whole.clone()), hunks, &placed)
            } else {
                Vec::new()
            };
            if !misses.is_empty() {
                return Err(missed(edit, &text, hunks, misses));
            }
            (whole, places)
        }
    };
    let written = text.write(whole).map_err(|fault| vec![Fault::at(edit, &edit.path, fault.to_string())])?;
    Ok((written, places))
}

/// Hunks that seem to be done in `text`, and whose old lines come to stand in `after`: which is meant, nobody can tell.
fn revived(text: &Text, after: &Text, hunks: &[Hunk], placed: &[Placed]) -> Vec<(usize, Miss)> {
    let doubt = || "its new lines stand there, and its old lines are what another hunk makes".to_owned();
    let seem_done = hunks.iter().zip(placed).enumerate().filter_map(|(index, (hunk, placed))| match placed {
        Placed::Already(at) if !is_in(text, hunk) && is_in(after, hunk) => Some((index, *at)),
        _ => None,
    });
    seem_done.map(|(index, at)| (index, Miss::Doubtful(at, doubt()))).collect()
}

fn missed(edit: &Edit, text: &Text, hunks: &[Hunk], misses: Vec<(usize, Miss)>) -> Faults {
    let fault = |(index, miss): (usize, Miss)| {
        let number = (hunks.len() > 1).then_some((index, hunks.len()));
        Fault::missed(edit, text, number, &hunks[index], &miss)
    };
    misses.into_iter().map(fault).collect()
}

fn landing(placed: &Placed) -> Option<(Pass, &Landing)> {
    match placed {
        Placed::Here(pass, landing) => Some((*pass, landing)),
        Placed::Already(_) => None,
    }
}

/// The first line of the file that a landing is about, from 1.
fn first(landing: &Landing) -> usize {
    let added = landing.adds.first().map(|(at, _)| *at);
    landing.drops.first().copied().into_iter().chain(added).min().unwrap_or(0) + 1
}

/// Whether a hunk stands on a line that is not in the file, and that one before it adds.
fn builds_on_itself(text: &Text, hunks: &[Hunk]) -> bool {
    let adds = |hunk: &Hunk, line: &str| hunk.lines.contains(&Line::Add(line.to_owned()));
    let stands_on = |(at, hunk): (usize, &Hunk)| {
        hunk.lines.iter().any(|line| {
            matches!(line, Line::Keep(kept) if hunks[..at].iter().any(|before| adds(before, kept))
                && !text.iter().any(|line| line == kept))
        })
    };
    hunks.iter().enumerate().any(stands_on)
}

/// The same if each hunk is written as those before it leave the file, and then fits just so.
fn in_turn(text: &Text, hunks: &[Hunk], endings: Endings) -> Option<(String, Places)> {
    if !builds_on_itself(text, hunks) {
        return None;
    }
    let (mut text, mut places) = (text.clone(), Vec::new());
    for hunk in hunks {
        let placed = place(&text, std::slice::from_ref(hunk)).ok()?;
        let (pass, landing) = placed.first().and_then(landing).filter(|(pass, _)| *pass <= Pass::Trailing)?;
        places.push((first(landing), pass));
        text = text.rewritten(rewrite(&text, &[landing], endings));
    }
    Some((text.as_str().to_owned(), places))
}

/// New content for a file that is there: with its mark, and its line endings if they are all the same.
fn written_like(content: &str, before: &[u8]) -> Vec<u8> {
    let Ok(text) = Text::read(before) else { return content.as_bytes().to_vec() };
    let windows =
        (0..text.len()).all(|at| matches!(text.ending(at), "\r\n" | "")) && text.first_ending() == "\r\n";
    let content =
        if windows && !content.contains('\r') { content.replace('\n', "\r\n") } else { content.to_owned() };
    text.write(content.clone()).unwrap_or_else(|_| content.into_bytes())
}
