//! Where the machine is touched: files through one confined door ([`fs`]), processes that are never left behind
//! ([`process`], [`session`]) and confined as a policy says ([`sandbox`]), output that is never lost ([`capture`], [`spill`]), files
//! of rules ([`rules`]).

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
