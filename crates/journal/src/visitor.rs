//! Visits every text of an entry, so that a visitor can change it.

use serde_json::Value;

use crate::entry::{
    ImageDigest, JournalEntry, JournalPlanStep, McpToolRef, RecordedAnswer, RecordedCall, SessionSettings,
    SpilledOutput,
};

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

/// Passes every text of `entry` to `visitor`. All fields are listed here, so that none is forgotten.
pub(crate) fn visit_entry(entry: &mut JournalEntry, visitor: &mut impl EntryVisitor) {
    match entry {
        JournalEntry::Session(settings) => visit_settings(settings, visitor),
        JournalEntry::Prompt { text, images } => {
            visitor.visit_text(text);
            visit_images(images, visitor);
        }
        JournalEntry::Said { wire, items } => {
            visitor.visit_text(wire);
            visitor.visit_list(items);
            items.iter_mut().for_each(|item| visitor.visit_value(item));
        }
        JournalEntry::Call(RecordedCall { id, tool, form: _, arguments, remote }) => {
            visitor.visit_id(id);
            visit_texts([tool, arguments], visitor);
            remote.iter_mut().for_each(|McpToolRef { server, tool }| visit_texts([server, tool], visitor));
        }
        JournalEntry::Intent { call, effects: sentences } | JournalEntry::Asked { call, why: sentences } => {
            visitor.visit_id(call);
            visitor.visit_list(sentences);
            visit_texts(sentences, visitor);
        }
        JournalEntry::Verdict { call, verdict: _, why, by } => {
            visit_call(call, [by], visitor);
            visitor.visit_list(why);
            visit_texts(why, visitor);
        }
        JournalEntry::Decided { call, decision, by } => visit_call(call, [decision, by], visitor),
        JournalEntry::Attempt { call, number: _, enforcement } => visit_call(call, [enforcement], visitor),
        JournalEntry::Answered(answer) => visit_answer(answer, visitor),
        JournalEntry::Kept { call, path, sha256, bytes: _ } => visit_call(call, [path, sha256], visitor),
        JournalEntry::Plan { steps } => {
            visitor.visit_list(steps);
            steps
                .iter_mut()
                .for_each(|JournalPlanStep { step, status }| visit_texts([step, status], visitor));
        }
        JournalEntry::Agent { path, of } => visit_texts([path, of], visitor),
        JournalEntry::Added { text } => visitor.visit_text(text),
        JournalEntry::Turn { id, ended, detail } => {
            visit_texts([id, ended], visitor);
            visit_texts(detail, visitor);
        }
        JournalEntry::Usage(_) => {}
        JournalEntry::Compacted { summary: text, dropped: _ }
        | JournalEntry::Diff { text }
        | JournalEntry::Interrupted { why: text }
        | JournalEntry::Notice { text }
        | JournalEntry::End { why: text } => visitor.visit_text(text),
        JournalEntry::Unknown(value) => visitor.visit_value(value),
    }
}

fn visit_answer(answer: &mut RecordedAnswer, visitor: &mut impl EntryVisitor) {
    let RecordedAnswer { call, success: _, error, took_ms: _, text, pictures, spilled, refused } = answer;
    visit_call(call, [text], visitor);
    visit_texts(error, visitor);
    visit_images(pictures, visitor);
    visitor.visit_list(refused);
    visit_texts(refused, visitor);
    let spilled = spilled.iter_mut();
    spilled.for_each(|SpilledOutput { path, sha256, bytes: _ }| visit_texts([path, sha256], visitor));
}

fn visit_call<const N: usize>(call: &mut String, others: [&mut String; N], visitor: &mut impl EntryVisitor) {
    visitor.visit_id(call);
    visit_texts(others, visitor);
}

fn visit_settings(settings: &mut SessionSettings, visitor: &mut impl EntryVisitor) {
    let SessionSettings { version, cwd, model, wire, sandbox, approval, base_url, client, resumed: _ } =
        settings;
    visit_texts([version, cwd, model, wire, sandbox, approval], visitor);
    visit_texts(base_url, visitor);
    visit_texts(client, visitor);
}

fn visit_texts<'a>(texts: impl IntoIterator<Item = &'a mut String>, visitor: &mut impl EntryVisitor) {
    texts.into_iter().for_each(|text| visitor.visit_text(text));
}

fn visit_images(pictures: &mut Vec<ImageDigest>, visitor: &mut impl EntryVisitor) {
    visitor.visit_list(pictures);
    pictures
        .iter_mut()
        .for_each(|ImageDigest { mime, sha256, bytes: _ }| visit_texts([mime, sha256], visitor));
}
