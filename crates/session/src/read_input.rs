//! Reads an input that the user named: a file, or `-` for standard input.

use std::io::Read;
use std::path::Path;

use config::OperationFault;

/// Reads the file, or standard input for `-`.
pub fn read_file_or_stdin(file: &Path) -> Result<String, OperationFault> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text)
    } else {
        #[expect(clippy::disallowed_methods, reason = "the user named this file, not a model")]
        std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text))
    };
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(OperationFault::usage(format!("`{}` cannot be read: {error}", file.display()))),
    }
}
