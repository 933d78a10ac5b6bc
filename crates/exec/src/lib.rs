//! Access to the machine. [`fs`] confines file access. [`process`] and [`session`] run processes and leave none
//! behind; [`sandbox`] confines them as a policy says. [`capture`] and [`spill`] keep output, [`rules`] reads and
//! saves rule files.

pub mod capture;
pub mod errand;
pub mod fs;
pub mod machine;
pub mod own_file;
pub mod process;
pub mod rules;
pub mod sandbox;
pub mod session;
pub mod shell;
pub mod spill;
