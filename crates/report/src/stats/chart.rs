//! Small bar and column charts of block characters.

/// Eighths of a block, from the left.
const HORIZONTAL_EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Eighths of a block, from below.
const VERTICAL_EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws a bar for `part` of `whole`, at most `width` blocks long. A nonzero part is always visible.
pub(crate) fn bar_chart(part: u64, whole: u64, width: u64) -> String {
    if part == 0 || whole == 0 {
        return String::new();
    }
    let most = u128::from(width) * 8;
    let eighths = (u128::from(part) * most / u128::from(whole)).clamp(1, most.max(1));
    let mut bar: String = (0..eighths / 8).map(|_| HORIZONTAL_EIGHTHS[7]).collect();
    if let Some(rest) = usize::try_from(eighths % 8).ok().and_then(|rest| rest.checked_sub(1)) {
        bar.push(HORIZONTAL_EIGHTHS[rest]);
    }
    bar
}

/// Draws one column per count. Zero is blank.
pub(crate) fn column_chart(counts: &[u64]) -> String {
    let highest = counts.iter().copied().max().unwrap_or_default();
    let column = |count: &u64| {
        let eighths = u128::from(*count) * 8 / u128::from(highest.max(1));
        let height = usize::try_from(eighths).unwrap_or(8).clamp(1, 8);
        if *count == 0 { ' ' } else { VERTICAL_EIGHTHS[height - 1] }
    };
    counts.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_part() {
        for (part, whole, expected) in [
            (0, 10, ""),
            (0, 0, ""),
            (10, 10, "████"),
            (5, 10, "██"),
            (1, 1000, "▏"),
            (3, 16, "▊"),
            (9, 4, "████"),
            (u64::MAX, u64::MAX, "████"),
        ] {
            assert_eq!(bar_chart(part, whole, 4), expected, "{part} of {whole}");
        }
        assert_eq!(column_chart(&[0, 1, 4, 8, 100]), " ▁▁▁█");
        assert_eq!(column_chart(&[1, 2, 4, 8]), "▁▂▄█");
        assert_eq!(column_chart(&[]), "");
    }
}
