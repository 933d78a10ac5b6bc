//! Facts about this process from `/proc/self`: command line, threads, and the code that is part of the program file.

use std::fs;

/// The type of the entry of the auxiliary vector that holds the address of the program's headers.
const AT_PHDR: usize = 3;
/// The size of a word in the auxiliary vector.
const WORD: usize = size_of::<usize>();

/// Returns whether `/proc` is mounted and shows this process.
pub(super) fn is_proc_mounted() -> bool {
    rustix::fs::lstat("/proc/self/exe").is_ok()
}

/// Returns the words of the command line.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel, and no tool is running")]
pub(super) fn command_line() -> Option<Vec<Vec<u8>>> {
    let line = fs::read("/proc/self/cmdline").ok()?;
    Some(line.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect())
}

/// Returns the number of threads.
#[expect(clippy::disallowed_methods, reason = "a directory of the kernel, and no tool is running")]
pub(super) fn thread_count() -> Option<usize> {
    Some(fs::read_dir("/proc/self/task").ok()?.count())
}

/// Returns whether the code or data at `address` comes from the program file, and not from a shared library.
///
/// The kernel tells a program where its own headers are. Both addresses must be mapped from the same file.
#[expect(clippy::disallowed_methods, reason = "files of the kernel")]
pub(super) fn contains(address: usize) -> bool {
    let (Ok(vector), Ok(maps)) = (fs::read("/proc/self/auxv"), fs::read("/proc/self/maps")) else {
        return false;
    };
    let maps = String::from_utf8_lossy(&maps);
    let Some(headers) = program_headers(&vector) else { return false };
    let file = file_at(&maps, headers);
    file.is_some() && file == file_at(&maps, address)
}

/// Returns the address of the program's headers from the auxiliary vector, which is a list of pairs of words.
fn program_headers(vector: &[u8]) -> Option<usize> {
    let word = |bytes: &[u8]| Some(usize::from_ne_bytes(bytes.try_into().ok()?));
    let mut pairs = vector.chunks_exact(2 * WORD);
    pairs.find_map(|pair| (word(&pair[..WORD])? == AT_PHDR).then(|| word(&pair[WORD..]))?)
}

/// Returns device, inode and path of the file that is mapped at `address`.
fn file_at(maps: &str, address: usize) -> Option<Vec<&str>> {
    maps.lines().find_map(|line| {
        // `start-end permissions offset device inode path`
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let hex = |text: &str| usize::from_str_radix(text, 16).ok();
        let file: Vec<&str> = fields.skip(2).collect();
        ((hex(start)?..hex(end)?).contains(&address) && file.len() > 2).then_some(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d000000000-55d000001000 r--p 00000000 fe:00 11                         /home/a b/program
55d000001000-55d000009000 r-xp 00001000 fe:00 11                         /home/a b/program
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
7f0000001000-7f0000002000 r-xp 00000000 fe:00 12                         /usr/lib/libc.so.6
";

    #[test]
    fn a_mapping_names_its_file() {
        let program = file_at(MAPS, 0x55d0_0000_0040);
        assert!(program.is_some());
        assert_eq!(program, file_at(MAPS, 0x55d0_0000_8fff));
        assert_ne!(program, file_at(MAPS, 0x7f00_0000_1000));
        // Memory without a file, and no mapping.
        assert_eq!(file_at(MAPS, 0x7f00_0000_0000), None);
        assert_eq!(file_at(MAPS, 0x55d0_0000_9000), None);
    }

    #[test]
    fn the_vector_is_read_in_pairs() {
        let words = [AT_PHDR + 1, AT_PHDR, AT_PHDR, 0x4040, 0, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(program_headers(&bytes), Some(0x4040));
        assert_eq!(program_headers(&bytes[..4 * WORD - 1]), None);
    }

    #[test]
    fn code_of_this_program_is_told_from_a_library() {
        assert!(contains(contains as *const () as usize));
        assert!(!contains(libc::getpid as *const () as usize));
        assert!(!contains(0));
    }
}
