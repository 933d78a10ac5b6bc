//! Visits every text of an entry, so that a visitor can change it.

use serde_json::Value;

use crate::entry::{Entry, Picture, Remote, Spilled, Step};

/// A visitor that changes the texts of an entry.
pub(crate) trait Walker {
    /// Visits a text.
    fn text(&mut self, text: &mut String);
    /// Visits an id by which entries refer to each other.
    fn id(&mut self, id: &mut String) {
        self.text(id);
    }
    /// Visits a raw model item.
    fn value(&mut self, value: &mut Value);
    /// Visits a list, before its elements.
    fn list<T>(&mut self, list: &mut Vec<T>);
}

/// Passes every text of `entry` to `walker`. All fields are listed here, so that none is forgotten.
pub(crate) fn walk(entry: &mut Entry, walker: &mut impl Walker) {
    match entry {
        Entry::Session { version, cwd, model, wire, sandbox, approval, resumed: _ } => {
            texts([version, cwd, model, wire, sandbox, approval], walker);
        }
        Entry::Prompt { text, images } => {
            walker.text(text);
            pictures(images, walker);
        }
        Entry::Said { wire, items } => {
            walker.text(wire);
            walker.list(items);
            items.iter_mut().for_each(|item| walker.value(item));
        }
        Entry::Call { id, tool, form: _, arguments, remote } => {
            walker.id(id);
            texts([tool, arguments], walker);
            remote.iter_mut().for_each(|Remote { server, tool }| texts([server, tool], walker));
        }
        Entry::Intent { call, effects: sentences } | Entry::Asked { call, why: sentences } => {
            walker.id(call);
            walker.list(sentences);
            texts(sentences, walker);
        }
        Entry::Verdict { call, verdict: _, why, by } => {
            of_call(call, [by], walker);
            walker.list(why);
            texts(why, walker);
        }
        Entry::Decided { call, decision, by } => of_call(call, [decision, by], walker),
        Entry::Attempt { call, number: _, enforcement } => of_call(call, [enforcement], walker),
        Entry::Answered { call, success: _, error, took_ms: _, text, pictures: shown, spilled } => {
            of_call(call, [text], walker);
            texts(error, walker);
            pictures(shown, walker);
            spilled.iter_mut().for_each(|Spilled { path, sha256, bytes: _ }| texts([path, sha256], walker));
        }
        Entry::Kept { call, path, sha256, bytes: _ } => of_call(call, [path, sha256], walker),
        Entry::Plan { steps } => {
            walker.list(steps);
            steps.iter_mut().for_each(|Step { step, status }| texts([step, status], walker));
        }
        Entry::Agent { path, of } => texts([path, of], walker),
        Entry::Added { text } => walker.text(text),
        Entry::Turn { id, ended, detail } => {
            texts([id, ended], walker);
            texts(detail, walker);
        }
        Entry::Usage { .. } => {}
        Entry::Compacted { summary: text, dropped: _ }
        | Entry::Diff { text }
        | Entry::Interrupted { why: text }
        | Entry::Notice { text }
        | Entry::End { why: text } => walker.text(text),
        Entry::Unknown(value) => walker.value(value),
    }
}

fn of_call<const N: usize>(call: &mut String, others: [&mut String; N], walker: &mut impl Walker) {
    walker.id(call);
    texts(others, walker);
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a mut String>, walker: &mut impl Walker) {
    texts.into_iter().for_each(|text| walker.text(text));
}

fn pictures(pictures: &mut Vec<Picture>, walker: &mut impl Walker) {
    walker.list(pictures);
    pictures.iter_mut().for_each(|Picture { mime, sha256, bytes: _ }| texts([mime, sha256], walker));
}
