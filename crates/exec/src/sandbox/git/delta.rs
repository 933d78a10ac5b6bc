//! One object made from another: what a delta in a pack says.

/// How long the result of `delta` is. `None` if it does not say so.
pub(super) fn result_length(delta: &[u8]) -> Option<u64> {
    let (_, at) = number(delta, 0)?;
    Some(number(delta, at)?.0)
}

/// Applies `delta` to `base`. `None` if it does not fit, or if the result is not as long as it says, or as `most`.
pub(super) fn apply(base: &[u8], delta: &[u8], most: usize) -> Option<Vec<u8>> {
    let (from, at) = number(delta, 0)?;
    let (to, mut at) = number(delta, at)?;
    let to = usize::try_from(to).ok().filter(|to| *to <= most)?;
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
                let offset = field(delta, &mut at, step & 0x0f)?;
                let length = match field(delta, &mut at, step >> 4 & 0x07)? {
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

/// A number of which only the bytes that `which` names are written.
fn field(delta: &[u8], at: &mut usize, which: u8) -> Option<usize> {
    let mut value = 0;
    for place in (0..4).filter(|place| which & 1 << place != 0) {
        value |= usize::from(*delta.get(*at)?) << (8 * place);
        *at += 1;
    }
    Some(value)
}

/// A number, its low bits first, and where it ends.
fn number(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    // ends: nine bytes hold all that is taken
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
