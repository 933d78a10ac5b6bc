//! Parses patches as JSON: a patch text in another format, texts to replace, or whole files.

use serde_json::{Map, Value};

use super::wrapper::PatchSource;
use super::{NO_LINE, PatchSyntaxError, PatchTextFormat, clip, path_check};
use crate::edit::{EditAction, FileEdit, ParsedPatch};

const PATH_KEYS: &[&str] = &["file_path", "path"];
/// The path field of a whole file. An error names the first entry.
const WHOLE_FILE_PATH_KEYS: &[&str] = &["path", "file_path"];
const OLD_TEXT_KEYS: &[&str] = &["original_content", "old_string", "old_str", "search"];
const NEW_TEXT_KEYS: &[&str] = &["updated_content", "new_string", "new_str", "replace"];
const CONTENT_KEYS: &[&str] = &["content"];
const REPLACE_ALL_KEYS: &[&str] = &["replace_all"];
const PATCH_TEXT_KEYS: &[&str] = &["input", "patch"];

const SHAPES_HINT: &str = "write {\"input\": patch}, {\"file_path\", \"original_content\", \"updated_content\"}, a list of \
     these as {\"edits\": […]}, or {\"files\": [{\"path\", \"content\"}]}";

/// The content of a JSON document.
pub(super) enum JsonPatch {
    /// A patch text in a format that is not JSON.
    Text(String),
    /// A list of edits.
    Edits(PatchTextFormat, ParsedPatch),
}

/// Returns true if a text looks like JSON.
pub(super) fn looks_like_json(text: &str) -> bool {
    let text = text.trim_start();
    let list = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{') || list.is_some_and(|inside| inside.is_empty() || inside.starts_with(['{', ']']))
}

/// Parses JSON in any of the supported shapes.
pub(super) fn parse(source: &PatchSource<'_>) -> Result<JsonPatch, PatchSyntaxError> {
    let value: Value = serde_json::from_str(source.text).map_err(|error| {
        let line = source.first_line_number + error.line().saturating_sub(1);
        let hint = "send all of it, with quotes and newlines in strings escaped";
        if error.is_eof() {
            return PatchSyntaxError::cut_off(line, hint);
        }
        PatchSyntaxError::new(line, format!("this is not JSON at column {}", error.column()), hint)
    })?;
    let reader = JsonEditReader { line: source.first_line_number };
    match value {
        Value::Array(items) => reader.read_list("", items, None),
        Value::Object(fields) => reader.read_document(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(reader.syntax_error("the JSON is neither an object nor a list", SHAPES_HINT))
        }
    }
}

/// The remaining fields of an object. Parsing removes one after the other.
struct JsonFields {
    /// The location of the object, e.g. `edits[2]`, or empty.
    location: String,
    remaining: Map<String, Value>,
}

impl JsonFields {
    /// Creates the fields of an object. A `null` field counts as missing.
    fn without_nulls(location: String, mut remaining: Map<String, Value>) -> Self {
        remaining.retain(|_, value| !value.is_null());
        Self { location, remaining }
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.remaining.contains_key(*name))
    }

    /// Returns the expected kind of an object in `files`. One with texts to replace is reported as another kind.
    fn expected_in_files(&self) -> ExpectedEdit {
        if self.has_any(OLD_TEXT_KEYS) || self.has_any(NEW_TEXT_KEYS) {
            ExpectedEdit::Either
        } else {
            ExpectedEdit::WholeFile
        }
    }

    /// Formats ` in edits[2]`, or nothing.
    fn location_suffix(&self) -> String {
        if self.location.is_empty() { String::new() } else { format!(" in `{}`", self.location) }
    }
}

/// The kind of edit that an object must describe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedEdit {
    /// A whole file or a text to replace, depending on its fields.
    Either,
    /// A whole file.
    WholeFile,
}

/// Parses edits from JSON values. All edits get the first line of the JSON text.
struct JsonEditReader {
    line: usize,
}

impl JsonEditReader {
    fn read_document(&self, remaining: Map<String, Value>) -> Result<JsonPatch, PatchSyntaxError> {
        let mut fields = JsonFields::without_nulls(String::new(), remaining);
        if fields.has_any(PATCH_TEXT_KEYS) {
            let text = self.take_string(&mut fields, PATCH_TEXT_KEYS)?;
            self.reject_unknown_fields(&fields, PATCH_TEXT_KEYS)?;
            if looks_like_json(&text) {
                let hint = "write the patch itself in it, as an envelope or a unified diff";
                return Err(self.syntax_error("the patch in the JSON is JSON again", hint));
            }
            return Ok(JsonPatch::Text(text));
        }
        for name in ["edits", "files"] {
            let Some(items) = fields.remaining.remove(name) else { continue };
            let Value::Array(items) = items else {
                return Err(self.syntax_error(format!("`{name}` is not a list"), SHAPES_HINT));
            };
            let path = match name == "edits" && fields.has_any(PATH_KEYS) {
                true => Some(self.take_string(&mut fields, PATH_KEYS)?),
                false => None,
            };
            self.reject_unknown_fields(&fields, &[name])?;
            return self.read_list(name, items, path.as_deref());
        }
        let (format, edit) = self.read_edit(fields, None, ExpectedEdit::Either)?;
        Ok(JsonPatch::Edits(format, ParsedPatch { edits: vec![edit] }))
    }

    fn read_list(
        &self,
        name: &str,
        items: Vec<Value>,
        shared: Option<&str>,
    ) -> Result<JsonPatch, PatchSyntaxError> {
        let mut found = None;
        let mut edits = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let location = format!("{name}[{index}]");
            let Value::Object(remaining) = item else {
                return Err(self.syntax_error(format!("`{location}` is not an object"), SHAPES_HINT));
            };
            let fields = JsonFields::without_nulls(location, remaining);
            let expected_kind =
                if name == "files" { fields.expected_in_files() } else { ExpectedEdit::Either };
            let (format, edit) = self.read_edit(fields, shared, expected_kind)?;
            let expected =
                if name == "files" { PatchTextFormat::Files } else { *found.get_or_insert(format) };
            if format != expected {
                let what = format!("`{name}[{index}]` is of another kind than what stands before it");
                return Err(
                    self.syntax_error(what, "list texts to replace in `edits` and whole files in `files`")
                );
            }
            found = Some(format);
            edits.push(edit);
        }
        match found {
            Some(format) => Ok(JsonPatch::Edits(format, ParsedPatch { edits })),
            None => Err(self.syntax_error("the list is empty: the patch names no file", SHAPES_HINT)),
        }
    }

    /// Parses a text to replace, or a whole file.
    fn read_edit(
        &self,
        mut fields: JsonFields,
        shared: Option<&str>,
        expected_kind: ExpectedEdit,
    ) -> Result<(PatchTextFormat, FileEdit), PatchSyntaxError> {
        let names = match expected_kind {
            ExpectedEdit::Either => PATH_KEYS,
            ExpectedEdit::WholeFile => WHOLE_FILE_PATH_KEYS,
        };
        let path = match shared {
            Some(shared) if !fields.has_any(PATH_KEYS) => shared.to_owned(),
            Some(_) | None => self.take_string(&mut fields, names)?,
        };
        let path = path_check::check_unquoted_path(&path, NO_LINE)?;
        if fields.has_any(CONTENT_KEYS) || expected_kind == ExpectedEdit::WholeFile {
            let content = self.take_string(&mut fields, CONTENT_KEYS)?;
            self.reject_unknown_fields(&fields, &["path", "content"])?;
            let action = EditAction::Write { content, executable: None };
            return Ok((PatchTextFormat::Files, FileEdit { path, line: self.line, action, blob_ids: None }));
        }
        // Without an old text the edit creates a file, and an existing one is left as it is.
        let old = if fields.has_any(OLD_TEXT_KEYS) {
            self.take_string(&mut fields, OLD_TEXT_KEYS)?
        } else {
            String::new()
        };
        let new = self.take_string(&mut fields, NEW_TEXT_KEYS)?;
        let all = self.take_bool(&mut fields, REPLACE_ALL_KEYS)?;
        self.reject_unknown_fields(
            &fields,
            &["file_path", "original_content", "updated_content", "replace_all"],
        )?;
        let action = EditAction::Replace { old, new, all };
        Ok((PatchTextFormat::Replace, FileEdit { path, line: self.line, action, blob_ids: None }))
    }

    /// Removes and returns the field that has one of `names`. Two of them could contradict each other.
    fn take_field(
        &self,
        fields: &mut JsonFields,
        names: &[&str],
    ) -> Result<Option<(String, Value)>, PatchSyntaxError> {
        let within = fields.location_suffix();
        let mut found =
            names.iter().filter_map(|name| Some(((*name).to_owned(), fields.remaining.remove(*name)?)));
        let first = found.next();
        match (&first, found.next()) {
            (Some((one, _)), Some((other, _))) => {
                let what = format!("`{one}` and `{other}`{within} name the same thing");
                Err(self.syntax_error(what, "give one of them"))
            }
            (_, _) => Ok(first),
        }
    }

    fn take_string(&self, fields: &mut JsonFields, names: &[&str]) -> Result<String, PatchSyntaxError> {
        let within = fields.location_suffix();
        match self.take_field(fields, names)? {
            Some((_, Value::String(text))) => Ok(text),
            Some((name, _)) => {
                Err(self.syntax_error(format!("`{name}`{within} is not a string"), "write it as a string"))
            }
            None => {
                let name = names.first().copied().unwrap_or_default();
                Err(self.syntax_error(format!("`{name}` is missing{within}"), SHAPES_HINT))
            }
        }
    }

    fn take_bool(&self, fields: &mut JsonFields, names: &[&str]) -> Result<bool, PatchSyntaxError> {
        let within = fields.location_suffix();
        match self.take_field(fields, names)? {
            None => Ok(false),
            Some((_, Value::Bool(flag))) => Ok(flag),
            Some((name, _)) => Err(self
                .syntax_error(format!("`{name}`{within} is neither true nor false"), "write true or false")),
        }
    }

    fn reject_unknown_fields(&self, fields: &JsonFields, known: &[&str]) -> Result<(), PatchSyntaxError> {
        if fields.remaining.is_empty() {
            return Ok(());
        }
        let names: Vec<String> =
            fields.remaining.keys().map(|name| format!("`{}`", clip(name))).take(5).collect();
        let noun = if names.len() == 1 { "field" } else { "fields" };
        let what = format!("unknown {noun} {}{}", names.join(", "), fields.location_suffix());
        Err(self.syntax_error(what, format!("leave it out; the fields are {}", known.join(", "))))
    }

    fn syntax_error(&self, what: impl Into<String>, hint: impl Into<String>) -> PatchSyntaxError {
        PatchSyntaxError::new(NO_LINE, what, hint)
    }
}
