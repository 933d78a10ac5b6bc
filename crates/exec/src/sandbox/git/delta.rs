//! Applies a delta of a pack: builds one object from another.

/// Returns the length of the result of `delta`, or `None` if it is malformed.
pub(super) fn result_length(delta: &[u8]) -> Option<u64> {
    let (_, at) = read_varint(delta, 0)?;
    Some(read_varint(delta, at)?.0)
}

/// Applies `delta` to `base`. Returns `None` if it does not fit, if the result has another length than stated, or if
/// it is longer than `max_length`.
pub(super) fn apply(base: &[u8], delta: &[u8], max_length: usize) -> Option<Vec<u8>> {
    let (from, at) = read_varint(delta, 0)?;
    let (to, mut at) = read_varint(delta, at)?;
    let to = usize::try_from(to).ok().filter(|to| *to <= max_length)?;
    (from == base.len() as u64).then_some(())?;
    let mut result = Vec::with_capacity(to);
    // ends: each step takes a byte of `delta`
    while let Some(step) = delta.get(at).copied() {
        at += 1;
        let piece = match step {
            0 => return None,
            1..=0x7f => {
                let start = at;
                at += usize::from(step);
                delta.get(start..at)?
            }
            0x80.. => {
                let offset = read_selected_bytes(delta, &mut at, step & 0x0f)?;
                let length = match read_selected_bytes(delta, &mut at, step >> 4 & 0x07)? {
                    0 => 0x10000,
                    length => length,
                };
                base.get(offset..offset.checked_add(length)?)?
            }
        };
        (result.len() + piece.len() <= to).then_some(())?;
        result.extend_from_slice(piece);
    }
    (result.len() == to).then_some(result)
}

/// Reads a number of which only the bytes in the bit set `selected` are stored.
fn read_selected_bytes(delta: &[u8], at: &mut usize, selected: u8) -> Option<usize> {
    let mut value = 0;
    for place in (0..4).filter(|place| selected & 1 << place != 0) {
        value |= usize::from(*delta.get(*at)?) << (8 * place);
        *at += 1;
    }
    Some(value)
}

/// Reads a number, low bits first, and returns it with its end.
fn read_varint(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    // ends: nine bytes hold the largest accepted number
    for shift in (0..63).step_by(7) {
        let byte = *bytes.get(at)?;
        at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
    }
    None
}
