//! Who follows a session, and who of them can be asked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rpc::protocol::Capabilities;
use rpc::{Method, Peer};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolgate::CancellationToken;

/// How long a client that could be asked has to come back.
const ABSENCE: Duration = Duration::from_secs(10);

/// The clients that follow a session.
pub(super) struct Company {
    followers: Mutex<Vec<Follower>>,
    /// Counts those who come and go.
    changes: watch::Sender<u64>,
}

struct Follower {
    peer: Peer,
    capabilities: Capabilities,
    /// Stops telling it what happens.
    stop: CancellationToken,
    /// It is told nothing more.
    told: CancellationToken,
    /// When it left, if it has: it may come back.
    left: Option<Instant>,
    /// Since when it says nothing more, so that it cannot be asked; what happens it is still told.
    silent: Option<Instant>,
}

/// How long a follower is told something.
pub(super) struct Joined {
    /// Cancelled when it is to be told nothing more.
    pub(super) stop: CancellationToken,
    /// Cancelled when it is told nothing more as the follower that it was before.
    pub(super) before: Option<CancellationToken>,
    _told: Told,
}

/// A follower that is told things, until this is dropped.
struct Told(CancellationToken);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Default for Company {
    fn default() -> Self {
        Self { followers: Mutex::default(), changes: watch::Sender::new(0) }
    }
}

impl Company {
    fn lock(&self) -> MutexGuard<'_, Vec<Follower>> {
        // A list is whole between any two statements.
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more, or the same one anew.
    pub(super) fn join(&self, peer: &Peer, capabilities: Capabilities) -> Joined {
        let (stop, told) = (peer.gone().child_token(), CancellationToken::new());
        let mut before = None;
        let mut followers = self.lock();
        followers.retain(|one| {
            let same = one.peer.number() == peer.number();
            if same {
                one.stop.cancel();
                before = Some(one.told.clone());
            }
            let here = one.left.is_none_or(|left| left.elapsed() < ABSENCE);
            !same && here
        });
        followers.push(Follower {
            peer: peer.clone(),
            capabilities,
            stop: stop.clone(),
            told: told.clone(),
            left: None,
            silent: None,
        });
        drop(followers);
        self.changes.send_modify(|count| *count += 1);
        Joined { stop, before, _told: Told(told) }
    }

    /// One less.
    pub(super) fn leave(&self, peer: &Peer) {
        for one in self.lock().iter_mut().filter(|one| one.peer.number() == peer.number()) {
            one.stop.cancel();
            one.left.get_or_insert_with(Instant::now);
        }
        self.changes.send_modify(|count| *count += 1);
    }

    /// One that can be asked nothing more.
    pub(super) fn silent(&self, peer: &Peer) {
        for one in self.lock().iter_mut().filter(|one| one.peer.number() == peer.number()) {
            one.silent.get_or_insert_with(Instant::now);
        }
        self.changes.send_modify(|count| *count += 1);
    }

    /// All that are here.
    pub(super) fn all(&self) -> Vec<Peer> {
        self.lock().iter().filter(|one| one.left.is_none()).map(|one| one.peer.clone()).collect()
    }

    /// Those that are here and can be asked, and until when one that was may come back.
    fn able(&self, can: fn(&Capabilities) -> bool) -> (Vec<Peer>, Option<Instant>) {
        let followers = self.lock();
        let able = followers.iter().filter(|one| can(&one.capabilities));
        let since = |one: &&Follower| one.silent.or(one.left);
        let here = able.clone().filter(|one| since(one).is_none()).map(|one| one.peer.clone()).collect();
        let back = able.filter_map(|one| since(&one)).map(|since| since + ABSENCE).max();
        (here, back.filter(|until| *until > Instant::now()))
    }

    /// Asks everybody who `can` be asked, those too who come later; the first answer counts. `None` if there is nobody.
    pub(super) async fn ask<M>(&self, params: M::Params, can: fn(&Capabilities) -> bool) -> Option<M::Result>
    where
        M: Method + 'static,
        M::Params: Clone + Send + Sync + 'static,
        M::Result: Send + 'static,
    {
        let mut changes = self.changes.subscribe();
        let (mut asked, mut answers) = (Vec::new(), JoinSet::new());
        // ends: with an answer, or when nobody is left to give one
        loop {
            let (here, back) = self.able(can);
            for peer in here.into_iter().filter(|peer| !asked.contains(&peer.number())).collect::<Vec<_>>() {
                asked.push(peer.number());
                let params = params.clone();
                answers.spawn(async move { peer.ask::<M>(&params).await });
            }
            if answers.is_empty() && back.is_none() {
                return None;
            }
            tokio::select! {
                Some(answer) = answers.join_next(), if !answers.is_empty() => match answer {
                    Ok(Ok(answer)) => return Some(answer),
                    Ok(Err(fault)) => tracing::debug!(%fault, "a client was asked in vain"),
                    Err(_) => {}
                },
                _ = changes.changed() => {}
                () = until(back), if answers.is_empty() => {}
            }
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
