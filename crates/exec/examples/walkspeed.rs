//! Scratch measurement.
#![allow(warnings)]
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
extern crate toolgate_exec as exec;
use exec::fs::*;
use policy::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let dir = exec::fs::real(args.next().unwrap().as_ref()).unwrap();
    let mode = args.next().unwrap();
    let threads: usize = args.next().unwrap().parse().unwrap();
    let rounds: usize = args.next().unwrap().parse().unwrap();
    let read = args.next().as_deref() == Some("read");
    let mut times = vec![];
    let (mut n, mut b) = (0, 0);
    for _ in 0..rounds {
        let t = Instant::now();
        let (count, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        if mode == "ours" || mode == "nodeny" {
            let deny =
                DenyRead::new(if mode == "ours" { DEFAULT_DENY_READ } else { &[] }, Some("/root".as_ref()))
                    .unwrap();
            let Verdict::Allow(permit) =
                Gate::read_only(Reach::new(vec![Root::new(&dir)], deny)).decide(&Intent::read(&dir))
            else {
                panic!()
            };
            let door = Door::new(&permit);
            let start = door.look(&dir).unwrap();
            let walked = door
                .walk(
                    &start,
                    &WalkOptions { ignore: IgnoreFiles::Respect, max_depth: None, threads },
                    &|| false,
                    || {
                        let mut buf = vec![0u8; 65536];
                        let (count, bytes) = (&count, &bytes);
                        move |e: &Entry<'_>| {
                            if e.kind() == Kind::File {
                                count.fetch_add(1, Relaxed);
                                if read {
                                    let mut f = e.open().unwrap();
                                    loop {
                                        let k = f.read(&mut buf).unwrap();
                                        if k == 0 {
                                            break;
                                        }
                                        bytes.fetch_add(k as u64, Relaxed);
                                    }
                                }
                            }
                            Flow::Continue
                        }
                    },
                )
                .unwrap();
        } else {
            let w = ignore::WalkBuilder::new(&dir)
                .hidden(false)
                .require_git(false)
                .git_global(false)
                .threads(threads)
                .filter_entry(|e| e.file_name() != ".git")
                .build_parallel();
            w.run(|| {
                let mut buf = vec![0u8; 65536];
                let (count, bytes) = (&count, &bytes);
                Box::new(move |e| {
                    let Ok(e) = e else { return ignore::WalkState::Continue };
                    if e.file_type().is_some_and(|t| t.is_file()) {
                        count.fetch_add(1, Relaxed);
                        if read {
                            let mut f = std::fs::File::open(e.path()).unwrap();
                            loop {
                                let k = f.read(&mut buf).unwrap();
                                if k == 0 {
                                    break;
                                }
                                bytes.fetch_add(k as u64, Relaxed);
                            }
                        }
                    }
                    ignore::WalkState::Continue
                })
            });
        }
        times.push(t.elapsed());
        n = count.into_inner();
        b = bytes.into_inner();
    }
    times.sort();
    println!(
        "{mode:7} threads={threads} read={read} files={n} bytes={b} median={:?} min={:?}",
        times[times.len() / 2],
        times[0]
    );
}
