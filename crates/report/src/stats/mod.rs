//! Statistics over sessions: totals, and their table.

mod chart;
mod session_totals;
mod table;

pub use session_totals::SessionTotals;
pub use table::{TableStyle, render};
