//! Renders an approval question as the lines that the user reads before answering.

use anstyle::{AnsiColor, Style};
use runtime::shell::{ScriptRedirect, ScriptWord};
use runtime::{
    ApprovalQuestion, ApprovalReason, CommandAnalysis, Effect, ExecEffect, RuleProposal, is_invisible,
};

use super::describe::{
    PromptScope, approval_choices, command_classes, confinement_summary, question_reasons,
};
use super::text_box::TextBox;
use terminal::{FAINT, NAME};

/// Commands that are listed at most; those that need attention are always listed. The full command is shown in any
/// case.
const MAX_LISTED_COMMANDS: usize = 20;

/// Lines of the screen below a question: the line of the answer, and the status lines of a run.
const ANSWER_LINES: usize = 3;
pub(super) const TITLE: Style = AnsiColor::Yellow.on_default().bold();
const DANGER: Style = AnsiColor::Red.on_default().bold();
pub(super) const PLAIN: Style = Style::new();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const HEADER: Style = AnsiColor::Cyan.on_default();

/// The size of a screen.
#[derive(Debug, Clone, Copy)]
pub struct ScreenSize {
    /// Width in columns.
    pub width: usize,
    /// Height in lines.
    pub height: usize,
}

/// Renders `question` in full, with the keys of its answers.
pub fn render_question(question: &ApprovalQuestion, size: ScreenSize, scope: PromptScope) -> String {
    let mut text_box = render_body(question, size.width);
    let choices: Vec<(char, &str)> =
        approval_choices(question).into_iter().filter_map(|choice| choice.terminal_key(scope)).collect();
    let height = size.height.saturating_sub(choices.len() + ANSWER_LINES);
    render_warnings(&mut text_box, question, height);
    for (key, label) in choices {
        text_box.push_field(&key.to_string(), &[label.to_owned()], PLAIN);
    }
    text_box.to_text()
}

/// Renders the question without its answers. A terminal shows the end first, so the command comes at the beginning.
fn render_body(question: &ApprovalQuestion, width: usize) -> TextBox {
    let mut text_box = TextBox::new(width);
    text_box.push_blank();
    render_title(&mut text_box, question);
    render_circumstances(&mut text_box, question);
    render_effects(&mut text_box, question);
    text_box.push_blank();
    text_box.push_field("why", &question_reasons(question), PLAIN);
    render_parts(&mut text_box, question);
    render_limits(&mut text_box, question);
    render_justification(&mut text_box, question);
    text_box.push_blank();
    text_box
}

pub(super) fn render_title(text_box: &mut TextBox, question: &ApprovalQuestion) {
    text_box.push_line(&format!("Toolgate asks: may {} do this?", question.tool), TITLE);
}

/// Says which agent asks, and whether the command has run before.
pub(super) fn render_circumstances(text_box: &mut TextBox, question: &ApprovalQuestion) {
    if !question.agent_path.is_empty() {
        text_box.push_line(
            &format!("The agent {} wants to, which the model has started.", question.agent_path.join("/")),
            PLAIN,
        );
    }
    if question.is_retry {
        let guessed =
            |why: &ApprovalReason| matches!(why, ApprovalReason::DeniedInSandbox { guessed: true, .. });
        let told = match question.reasons.iter().all(guessed) {
            true => "It ran and failed.",
            false => "It ran, was refused something, and failed.",
        };
        text_box.push_line(&format!("{told} A yes runs it again from the beginning."), DANGER);
    }
}

/// Shows the complete effects, however long they are.
fn render_effects(text_box: &mut TextBox, question: &ApprovalQuestion) {
    for effect in &question.intent.effects {
        render_effect(text_box, effect, question.analysis.as_ref());
    }
    render_change(text_box, question);
}

/// Shows the change of files, or the arguments of a foreign tool.
pub(super) fn render_change(text_box: &mut TextBox, question: &ApprovalQuestion) {
    let remembers = |effect: &Effect| matches!(effect, Effect::Remember(_));
    // The text to remember is shown already.
    let diff = question.intent.diff.as_ref().filter(|_| !question.intent.effects.iter().any(remembers));
    if let Some(diff) = diff {
        text_box.push_blank();
        let foreign = |effect: &Effect| matches!(effect, Effect::Foreign(_));
        let called = question.intent.effects.iter().any(foreign);
        text_box.push_line(if called { "It is called with:" } else { "It would change:" }, PLAIN);
        text_box.push_quote(diff, diff_line_style);
    }
}

/// Shows the model's justification.
pub(super) fn render_justification(text_box: &mut TextBox, question: &ApprovalQuestion) {
    if let Some(words) = &question.intent.justification {
        text_box.push_blank();
        text_box.push_line("The model says why, in its own words (not verified):", PLAIN);
        text_box.push_quote(words, |_| PLAIN);
    }
    render_proposed_prefix(text_box, question);
}

/// Shows the rule that the model proposes, offered or not.
fn render_proposed_prefix(text_box: &mut TextBox, question: &ApprovalQuestion) {
    let Some(words) = &question.intent.prefix_rule else { return };
    text_box.push_blank();
    text_box.push_line("The model proposes to allow from now on every command that begins with:", PLAIN);
    text_box.push_quote(&words.join(" "), |_| PLAIN);
    if !question.proposal.as_ref().is_some_and(|proposal| proposal.chosen_by_model) {
        text_box.push_line(
            "That rule is not offered: it would allow too much, or does not fit the command.",
            PLAIN,
        );
    }
}

/// Renders the proposed rule and examples of what else it would allow.
pub fn render_rule(proposal: &RuleProposal, size: ScreenSize) -> String {
    let mut text_box = TextBox::new(size.width);
    text_box.push_blank();
    text_box.push_line("This rule would be saved among yours:", TITLE);
    text_box.push_quote(&proposal.rule.to_string(), |_| PLAIN);
    if proposal.chosen_by_model {
        text_box.push_line("The model proposed the command words in this rule.", PLAIN);
    }
    if proposal.rule.unsandboxed {
        text_box
            .push_line("What it allows runs without the sandbox, and is never asked about again.", DANGER);
    }
    render_examples(&mut text_box, proposal);
    text_box.to_text()
}

/// Lists commands that the rule would allow besides the one in question.
pub(super) fn render_examples(text_box: &mut TextBox, proposal: &RuleProposal) {
    if !proposal.allowed_examples.is_empty() {
        text_box.push_line("From then on it would also allow, for example:", PLAIN);
        text_box.push_quote(&proposal.allowed_examples.join("\n"), |_| NAME);
    }
}

/// Shows one effect if it needs more than a line.
pub(super) fn render_effect(text_box: &mut TextBox, effect: &Effect, analysis: Option<&CommandAnalysis>) {
    match effect {
        Effect::Exec(exec) => render_command(text_box, exec, analysis),
        Effect::SendInput(typing) => {
            text_box.push_blank();
            text_box.push_line(&format!("It would type this into `{}`:", typing.command_line), PLAIN);
            text_box.push_quote(&typing.text, |_| PLAIN);
        }
        Effect::Foreign(foreign) => {
            text_box.push_blank();
            text_box.push_line(&format!("It would call `{}` of `{}`.", foreign.tool, foreign.server), PLAIN);
        }
        Effect::Remember(note) => {
            text_box.push_blank();
            text_box.push_line(
                &format!(
                    "It would have every later session in {} read this, as `{}`:",
                    note.scope, note.name
                ),
                PLAIN,
            );
            text_box.push_quote(&note.text, |_| PLAIN);
        }
        Effect::Read(_) | Effect::Write(_) | Effect::Network(_) => {}
    }
}

fn render_command(text_box: &mut TextBox, exec: &ExecEffect, analysis: Option<&CommandAnalysis>) {
    text_box.push_blank();
    let cwd = exec.cwd().display();
    let terminal = if exec.terminal { ", at a terminal of its own" } else { "" };
    if let Some(patch) = &exec.analysis().patch {
        let place = patch.directory.as_ref().map_or(exec.cwd().to_owned(), |below| exec.cwd().join(below));
        text_box.push_line(&format!("It would apply this patch in `{}`:", place.display()), PLAIN);
        return text_box.push_quote(&patch.text, diff_line_style);
    }
    match exec.line().script() {
        Some(script) => {
            let shell = exec.line().argv()[..2].join(" ");
            text_box.push_line(&format!("It would run this in `{cwd}` by `{shell}`{terminal}:"), PLAIN);
            text_box.push_quote(&mark_unknown_words(script, analysis), |_| NAME);
        }
        None => {
            text_box.push_line(&format!("It would run this in `{cwd}`{terminal}:"), PLAIN);
            text_box.push_quote(&exec.line().to_string(), |_| NAME);
        }
    }
}

/// Marks the unknown parts of the script with ‹ and ›.
pub(super) fn mark_unknown_words(script: &str, analysis: Option<&CommandAnalysis>) -> String {
    let mut unknown: Vec<&str> = analysis.map(unknown_words).unwrap_or_default();
    // Longest first: one unknown text may be part of another.
    unknown.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut out = String::with_capacity(script.len());
    let mut rest = script;
    while let Some(letter) = rest.chars().next() {
        let begins = !out.ends_with(is_word_char);
        let found = unknown.iter().find(|text| {
            begins && rest.strip_prefix(**text).is_some_and(|after| !after.starts_with(is_word_char))
        });
        let taken = match found {
            Some(text) => {
                out.push_str(&format!("‹{text}›"));
                text.len()
            }
            None => {
                out.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out
}

/// Returns every unknown word as written.
fn unknown_words(analysis: &CommandAnalysis) -> Vec<&str> {
    let commands = analysis.commands.iter().map(|part| &part.command);
    let words = commands.flat_map(|command| {
        let redirects = command.redirects.iter().filter_map(|redirect| match redirect {
            ScriptRedirect::Read(to)
            | ScriptRedirect::Write(to)
            | ScriptRedirect::Append(to)
            | ScriptRedirect::ReadWrite(to) => Some(to),
            // The whole text would become one mark.
            ScriptRedirect::Text(_) => None,
        });
        command.words.iter().chain(command.variables.iter().map(|(_, value)| value)).chain(redirects)
    });
    let words = words.chain(analysis.assignments.iter().map(|(_, value, _)| value));
    let unknown = words.filter_map(|word| match word {
        ScriptWord::Unknown(text) if !text.is_empty() => Some(text.as_str()),
        ScriptWord::Unknown(_) | ScriptWord::Literal(_) => None,
    });
    unknown.collect()
}

fn is_word_char(letter: char) -> bool {
    !letter.is_whitespace() && !"=;|&()<>\"`‹›".contains(letter)
}

/// Lists the commands that it consists of, and the paths, programs and hosts they are known to touch.
pub(super) fn render_parts(text_box: &mut TextBox, question: &ApprovalQuestion) {
    let (mut shown, mut more) = (0, 0);
    for (command, class, why) in command_classes(question) {
        let plain = matches!(class, "reads" | "ordinary" | "allowed");
        if plain && shown >= MAX_LISTED_COMMANDS {
            more += 1;
            continue;
        }
        let style = if class == "dangerous" || class == "asked" { DANGER } else { PLAIN };
        // Toolgate's words come first: foreign text could continue with an imitation of them.
        let why = why.map(|why| format!("({why}) ")).unwrap_or_default();
        text_box.push_field(
            if shown == 0 { "runs" } else { "" },
            &[format!("{class:9} {why}{command}")],
            style,
        );
        shown += 1;
    }
    if more > 0 {
        text_box.push_field(
            "",
            &[format!("… and {more} more, as shown: only reading, ordinary or allowed")],
            FAINT,
        );
    }
    if let Some(analysis) = &question.analysis {
        let unclear = analysis.undecided.iter().map(|doubt| format!("{}: {}", doubt.why, doubt.text));
        text_box.push_field("unclear", &unclear.collect::<Vec<_>>(), DANGER);
        let sets = analysis.assignments.iter().map(|(name, value, why)| {
            let why = why.map(|why| format!("({why}) ")).unwrap_or_default();
            format!("{why}{name}={value}")
        });
        text_box.push_field("sets", &sets.collect::<Vec<_>>(), PLAIN);
        text_box.push_field("defines", &analysis.definitions, PLAIN);
    }
    let touches = question.effect_summary();
    for (label, things) in [
        ("reads", &touches.reads),
        ("writes", &touches.writes),
        ("starts", &touches.programs),
        ("reaches", &touches.hosts),
    ] {
        if !things.is_empty() {
            text_box.push_field(label, &[things.join(", ")], PLAIN);
        }
    }
    text_box.push_field("note", &question.host_file_warnings(), DANGER);
}

/// Shows the confinement, and what an approval grants.
fn render_limits(text_box: &mut TextBox, question: &ApprovalQuestion) {
    text_box.push_field("confined", &[confinement_summary(question)], PLAIN);
    render_grants(text_box, question);
}

pub(super) fn render_grants(text_box: &mut TextBox, question: &ApprovalQuestion) {
    let grants: Vec<String> = question.grants.iter().map(|grant| format!("lets it {grant}")).collect();
    text_box.push_field("a yes", &grants, DANGER);
}

/// Adds warnings about the question itself: escaped characters, and more lines than the screen has for it.
pub(super) fn render_warnings(text_box: &mut TextBox, question: &ApprovalQuestion, screen_lines: usize) {
    let height = text_box.height();
    if text_box.has_escapes() || has_invisible_chars(question) {
        text_box
            .push_line("Beware: it holds characters that do not show; they are written as \\u{…}.", DANGER);
        text_box.push_blank();
    }
    if height > screen_lines {
        text_box.push_line(
            &format!("The question is {height} lines long: scroll up to see where it begins."),
            FAINT,
        );
    }
}

/// Reports whether the command contains invisible characters. Some were escaped before they arrived here.
pub(super) fn has_invisible_chars(question: &ApprovalQuestion) -> bool {
    question.intent.effects.iter().any(|effect| match effect {
        Effect::Exec(exec) => exec.line().argv().iter().any(|word| word.contains(is_invisible)),
        Effect::Read(_)
        | Effect::Write(_)
        | Effect::Network(_)
        | Effect::SendInput(_)
        | Effect::Foreign(_)
        | Effect::Remember(_) => false,
    })
}

/// Returns the style for a line of a diff or patch.
fn diff_line_style(line: &str) -> Style {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => HEADER,
        [b'+', ..] => ADDED,
        [b'-', ..] => REMOVED,
        [b'@', b'@', ..] | [b'*', b'*', b'*', ..] => HEADER,
        _ => PLAIN,
    }
}
