//! Lands objects on the host: each is copied under a temporary name, verified there, and only then renamed.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::allowlist::ContentForm;
use super::host_git_dir::{HostWriteFault, HostWriteOutcome};
use super::landing::{LandOutcome, LayerLanding};
use super::object_format::{self, ObjectFormat};
use super::path_text::parts;
use super::upper_dir::LandingContent;
use super::{loose_object, pack_check, pack_index};

/// The budget of inflated bytes for one landing, and for one pack. Objects beyond it land next time, or not.
pub(super) const MAX_INFLATED_PER_LANDING: u64 = 4 << 30;
const MAX_INFLATED_PER_PACK: u64 = 2 << 30;

impl LayerLanding<'_> {
    /// Lands an object, or a pack with its index.
    pub(super) fn land_object(
        &mut self,
        path: &Path,
        form: ContentForm,
        body: &LandingContent,
    ) -> Result<LandOutcome, HostWriteFault> {
        let (LandingContent::File(file, size), Some(format)) = (body, self.object_format(path)) else {
            return Ok(LandOutcome::Written(HostWriteOutcome::Kept));
        };
        match form {
            ContentForm::LooseObject => {
                self.land_loose_object(path, (file, *size), format).map(LandOutcome::Written)
            }
            ContentForm::Pack => self.land_pack(path, (file, *size), format),
            _ => self.land_pack_index(path, format).map(LandOutcome::Written),
        }
    }

    fn land_loose_object(
        &mut self,
        path: &Path,
        (file, size): (&File, u64),
        format: ObjectFormat,
    ) -> Result<HostWriteOutcome, HostWriteFault> {
        let names = parts(path);
        let [.., first, rest] = names.as_slice() else { return Ok(HostWriteOutcome::Kept) };
        let Some(id) =
            object_format::parse_id(&[*first, *rest].concat()).filter(|id| id.len() == format.id_length())
        else {
            return Ok(HostWriteOutcome::Kept);
        };
        self.host.add_new(path, |to| {
            loose_object::copy_object(file.take(size), to, (&id, format), &mut self.inflate_budget)
        })
    }

    /// Lands a pack. Without an index, git is still writing the pack.
    fn land_pack(
        &mut self,
        path: &Path,
        (file, size): (&File, u64),
        format: ObjectFormat,
    ) -> Result<LandOutcome, HostWriteFault> {
        let index_path = path.with_extension("idx");
        let Some(index) = self.upper.read_small(&index_path, pack_index::MAX_PACK_INDEX_BYTES) else {
            return Ok(if self.upper.lacks(&index_path) {
                LandOutcome::Gone
            } else {
                LandOutcome::Written(HostWriteOutcome::Kept)
            });
        };
        let mut budget = self.inflate_budget.min(MAX_INFLATED_PER_PACK);
        let before = budget;
        let put = self.host.add_new(path, |to| {
            std::io::copy(&mut file.take(size), to)?;
            pack_check::check_pack(to, size, &index, format, &mut budget)
        });
        self.inflate_budget -= before - budget;
        let put = put?;
        if matches!(put, HostWriteOutcome::Landed(_)) {
            self.host.add_new(&index_path, |to| std::io::Write::write_all(to, &index))?;
        }
        Ok(LandOutcome::Written(put))
    }

    /// Lands the index of a pack that the host has.
    fn land_pack_index(
        &mut self,
        path: &Path,
        format: ObjectFormat,
    ) -> Result<HostWriteOutcome, HostWriteFault> {
        let pack = self.host.open_file(&path.with_extension("pack"));
        let index = self.upper.read_small(path, pack_index::MAX_PACK_INDEX_BYTES);
        let (Some(pack), Some(index)) = (pack, index) else { return Ok(HostWriteOutcome::Kept) };
        let size = super::sys::size(&rustix::fs::fstat(&pack)?);
        let mut budget = self.inflate_budget.min(MAX_INFLATED_PER_PACK);
        let before = budget;
        let put = self.host.add_new(path, |to| {
            pack_check::check_pack(&pack, size, &index, format, &mut budget)?;
            std::io::Write::write_all(to, &index)
        });
        self.inflate_budget -= before - budget;
        put
    }

    /// Returns true if this may be a promisor marker. Git does not report objects missing that a promisor should
    /// have. A pack that the host already has is not from a promisor.
    pub(super) fn is_promisor_valid(&self, path: &Path, text: &[u8]) -> bool {
        let line = |line: &[u8]| {
            let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
            super::content_checks::is_object_id(&line[..end]) && !line.iter().any(u8::is_ascii_control)
        };
        let packed = path.file_stem().is_some_and(|stem| stem.as_bytes().starts_with(b"pack-"));
        packed
            && super::content_checks::lines(text).all(line)
            && !self.host.exists(&path.with_extension("pack"))
    }
}
