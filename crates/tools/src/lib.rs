//! The tools we ship: one file each, one line each in [`all`].
//!
//! A tool here reads only through `exec::fs`, which opens what its permit reaches and nothing else.

mod blocks;
mod door;
mod encoding;
mod grep_files;
mod grep_hits;
mod grep_search;
mod lines;
mod list_dir;
mod numbered;
mod picture;
mod read_file;
mod update_plan;
mod view_image;
mod words;

use std::sync::Arc;

pub use picture::Pictures;
use tool::{AnyTool, StrictFault, erase};

/// Every tool, in the order of their names.
pub fn all(pictures: Pictures) -> Result<Vec<Arc<dyn AnyTool>>, StrictFault> {
    Ok(vec![
        erase(grep_files::GrepFiles)?,
        erase(list_dir::ListDir)?,
        erase(read_file::ReadFile::new(pictures))?,
        erase(update_plan::UpdatePlan)?,
        erase(view_image::ViewImage::new(pictures))?,
    ])
}
