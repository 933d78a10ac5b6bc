//! The clients that follow a session, and the questions to them.

use std::time::Duration;

use parking_lot::Mutex;
use rpc::protocol::ClientCapabilities;
use rpc::{Peer, RpcMethod};
use runtime::CancellationToken;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Time that a disconnected client has to return before a question to it is given up.
const MAX_ABSENCE: Duration = Duration::from_secs(10);

/// The clients that follow a session.
pub(super) struct Subscribers {
    followers: Mutex<Vec<Subscriber>>,
    /// Counts changes of the list.
    changes: watch::Sender<u64>,
}

/// A client that follows the session.
struct Subscriber {
    peer: Peer,
    capabilities: ClientCapabilities,
    /// Stops the event stream to it.
    stop: CancellationToken,
    /// Cancelled when the event stream has stopped.
    stream_stopped: CancellationToken,
    /// The time when it left. It may return.
    left_at: Option<Instant>,
    /// The time when its sending side closed. It cannot be asked any more, but still receives events.
    silent_since: Option<Instant>,
}

/// The subscription of a follower.
pub(super) struct Subscription {
    /// Cancelled when the event stream must stop.
    pub(super) stop: CancellationToken,
    /// Cancelled when the event stream of the same peer's previous subscription has stopped.
    pub(super) previous_stopped: Option<CancellationToken>,
    _stopped_guard: DeliveryGuard,
}

/// Signals on drop that the event stream has stopped.
struct DeliveryGuard(CancellationToken);

impl Drop for DeliveryGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Default for Subscribers {
    fn default() -> Self {
        Self { followers: Mutex::default(), changes: watch::Sender::new(0) }
    }
}

impl Subscribers {
    /// Adds a follower, or replaces the previous subscription of the same peer.
    pub(super) fn subscribe(&self, peer: &Peer, capabilities: ClientCapabilities) -> Subscription {
        let (stop, stream_stopped) = (peer.disconnected().child_token(), CancellationToken::new());
        let mut previous_stopped = None;
        let mut followers = self.followers.lock();
        followers.retain(|one| {
            let same = one.peer.number() == peer.number();
            if same {
                one.stop.cancel();
                previous_stopped = Some(one.stream_stopped.clone());
            }
            let here = one.left_at.is_none_or(|left| left.elapsed() < MAX_ABSENCE);
            !same && here
        });
        followers.push(Subscriber {
            peer: peer.clone(),
            capabilities,
            stop: stop.clone(),
            stream_stopped: stream_stopped.clone(),
            left_at: None,
            silent_since: None,
        });
        drop(followers);
        self.changes.send_modify(|count| *count += 1);
        Subscription { stop, previous_stopped, _stopped_guard: DeliveryGuard(stream_stopped) }
    }

    /// Marks a follower as gone, and stops its event stream.
    pub(super) fn unsubscribe(&self, peer: &Peer) {
        for one in self.followers.lock().iter_mut().filter(|one| one.peer.number() == peer.number()) {
            one.stop.cancel();
            one.left_at.get_or_insert_with(Instant::now);
        }
        self.changes.send_modify(|count| *count += 1);
    }

    /// Marks a follower as unable to answer.
    pub(super) fn mark_silent(&self, peer: &Peer) {
        for one in self.followers.lock().iter_mut().filter(|one| one.peer.number() == peer.number()) {
            one.silent_since.get_or_insert_with(Instant::now);
        }
        self.changes.send_modify(|count| *count += 1);
    }

    /// Returns the connected followers.
    pub(super) fn connected_peers(&self) -> Vec<Peer> {
        self.followers.lock().iter().filter(|one| one.left_at.is_none()).map(|one| one.peer.clone()).collect()
    }

    /// Returns the connected followers that can be asked, and the time until which an absent one may return.
    fn askable_peers(&self, can: fn(&ClientCapabilities) -> bool) -> (Vec<Peer>, Option<Instant>) {
        let followers = self.followers.lock();
        let askable = followers.iter().filter(|one| can(&one.capabilities));
        let since = |one: &&Subscriber| one.silent_since.or(one.left_at);
        let here = askable.clone().filter(|one| since(one).is_none()).map(|one| one.peer.clone()).collect();
        let back = askable.filter_map(|one| since(&one)).map(|since| since + MAX_ABSENCE).max();
        (here, back.filter(|until| *until > Instant::now()))
    }

    /// Asks every follower that `can` be asked, including later ones; the first answer counts. Returns `None`
    /// if no follower is left that could answer.
    pub(super) async fn ask_all<M>(
        &self,
        params: M::Params,
        can: fn(&ClientCapabilities) -> bool,
    ) -> Option<M::Result>
    where
        M: RpcMethod + 'static,
        M::Params: Clone + Send + Sync + 'static,
        M::Result: Send + 'static,
    {
        let mut changes = self.changes.subscribe();
        let (mut asked, mut answers) = (Vec::new(), JoinSet::new());
        // ends: with an answer, or when no follower is left to give one
        loop {
            let (here, back) = self.askable_peers(can);
            for peer in here.into_iter().filter(|peer| !asked.contains(&peer.number())).collect::<Vec<_>>() {
                asked.push(peer.number());
                let params = params.clone();
                answers.spawn(async move { peer.call::<M>(&params).await });
            }
            if answers.is_empty() && back.is_none() {
                return None;
            }
            tokio::select! {
                Some(answer) = answers.join_next(), if !answers.is_empty() => match answer {
                    Ok(Ok(answer)) => return Some(answer),
                    Ok(Err(fault)) => tracing::debug!(%fault, "a client answered with an error"),
                    Err(_) => {}
                },
                _ = changes.changed() => {}
                () = sleep_until_or_forever(back), if answers.is_empty() => {}
            }
        }
    }
}

async fn sleep_until_or_forever(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
