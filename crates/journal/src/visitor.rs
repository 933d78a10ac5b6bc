//! Visits every text of an entry, so that a visitor can change it.

use serde_json::Value;

use crate::entry::{ImageDigest, JournalEntry, JournalPlanStep, McpToolRef, SpilledOutput};

/// A visitor that changes the texts of an entry.
pub(crate) trait EntryVisitor {
    /// Visits a text.
    fn visit_text(&mut self, text: &mut String);
    /// Visits an id by which entries refer to each other.
    fn visit_id(&mut self, id: &mut String) {
        self.visit_text(id);
    }
    /// Visits a raw model item.
    fn visit_value(&mut self, value: &mut Value);
    /// Visits a list, before its elements.
    fn visit_list<T>(&mut self, list: &mut Vec<T>);
}

/// Passes every text of `entry` to `walker`. All fields are listed here, so that none is forgotten.
pub(crate) fn visit_entry(entry: &mut JournalEntry, walker: &mut impl EntryVisitor) {
    match entry {
        JournalEntry::Session { version, cwd, model, wire, sandbox, approval, resumed: _ } => {
            visit_texts([version, cwd, model, wire, sandbox, approval], walker);
        }
        JournalEntry::Prompt { text, images } => {
            walker.visit_text(text);
            visit_images(images, walker);
        }
        JournalEntry::Said { wire, items } => {
            walker.visit_text(wire);
            walker.visit_list(items);
            items.iter_mut().for_each(|item| walker.visit_value(item));
        }
        JournalEntry::Call { id, tool, form: _, arguments, remote } => {
            walker.visit_id(id);
            visit_texts([tool, arguments], walker);
            remote.iter_mut().for_each(|McpToolRef { server, tool }| visit_texts([server, tool], walker));
        }
        JournalEntry::Intent { call, effects: sentences } | JournalEntry::Asked { call, why: sentences } => {
            walker.visit_id(call);
            walker.visit_list(sentences);
            visit_texts(sentences, walker);
        }
        JournalEntry::Verdict { call, verdict: _, why, by } => {
            visit_call(call, [by], walker);
            walker.visit_list(why);
            visit_texts(why, walker);
        }
        JournalEntry::Decided { call, decision, by } => visit_call(call, [decision, by], walker),
        JournalEntry::Attempt { call, number: _, enforcement } => visit_call(call, [enforcement], walker),
        JournalEntry::Answered { call, success: _, error, took_ms: _, text, pictures: shown, spilled } => {
            visit_call(call, [text], walker);
            visit_texts(error, walker);
            visit_images(shown, walker);
            spilled
                .iter_mut()
                .for_each(|SpilledOutput { path, sha256, bytes: _ }| visit_texts([path, sha256], walker));
        }
        JournalEntry::Kept { call, path, sha256, bytes: _ } => visit_call(call, [path, sha256], walker),
        JournalEntry::Plan { steps } => {
            walker.visit_list(steps);
            steps.iter_mut().for_each(|JournalPlanStep { step, status }| visit_texts([step, status], walker));
        }
        JournalEntry::Agent { path, of } => visit_texts([path, of], walker),
        JournalEntry::Added { text } => walker.visit_text(text),
        JournalEntry::Turn { id, ended, detail } => {
            visit_texts([id, ended], walker);
            visit_texts(detail, walker);
        }
        JournalEntry::Usage { .. } => {}
        JournalEntry::Compacted { summary: text, dropped: _ }
        | JournalEntry::Diff { text }
        | JournalEntry::Interrupted { why: text }
        | JournalEntry::Notice { text }
        | JournalEntry::End { why: text } => walker.visit_text(text),
        JournalEntry::Unknown(value) => walker.visit_value(value),
    }
}

fn visit_call<const N: usize>(call: &mut String, others: [&mut String; N], walker: &mut impl EntryVisitor) {
    walker.visit_id(call);
    visit_texts(others, walker);
}

fn visit_texts<'a>(texts: impl IntoIterator<Item = &'a mut String>, walker: &mut impl EntryVisitor) {
    texts.into_iter().for_each(|text| walker.visit_text(text));
}

fn visit_images(pictures: &mut Vec<ImageDigest>, walker: &mut impl EntryVisitor) {
    walker.visit_list(pictures);
    pictures.iter_mut().for_each(|ImageDigest { mime, sha256, bytes: _ }| visit_texts([mime, sha256], walker));
}
