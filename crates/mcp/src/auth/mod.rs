//! Who the user is to a server behind a URL: OAuth 2.1, as the protocol asks for it.

mod address;
mod door;
mod events;
mod file;
mod kept;
mod keys;
mod login;
mod post;
mod redirect;
mod sent;
mod tokens;

use std::fmt;
use std::sync::Arc;

pub(crate) use door::Door;
pub(crate) use keys::Keys;
pub use login::{LoggedIn, LoginFault, Opener, login, logout};
pub(crate) use sent::Sent;
pub use tokens::{Tokens, TokensFault};

/// How a server gets to know who its user is.
#[derive(Debug, Clone)]
pub struct Auth {
    /// Where what the user was given is kept.
    pub tokens: Arc<Tokens>,
    /// Who we are to whoever lets users in.
    pub client: ClientId,
    /// The rights that are asked for; what the server says it needs if nothing is said.
    pub scopes: Vec<String>,
    /// Where whoever lets users in may be.
    pub network: Network,
}

/// Where whoever lets users in may be. Addresses of this machine are used only for servers of this machine, and those
/// that mean something to a cloud never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// Where everybody can reach them; a server at an address of a private network may name others there.
    #[default]
    Public,
    /// In a private network, too.
    Private,
}

impl Auth {
    /// With nothing else said: we are whoever the other side says we are, and ask for what the server needs.
    pub fn new(tokens: Arc<Tokens>) -> Self {
        Self { tokens, client: ClientId::Any, scopes: Vec::new(), network: Network::default() }
    }
}

/// Who we are to whoever lets users in.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientId {
    /// Whoever they say we are: we register ourselves.
    Any,
    /// Somebody they know already.
    Registered {
        /// What they call us.
        id: String,
        /// How they know that it is us, if they gave us something.
        secret: Option<String>,
    },
    /// Whoever the document behind this `https` URL describes, if they read such documents; anybody if not.
    Document(String),
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("Any"),
            Self::Registered { id, .. } => f.debug_tuple("Registered").field(id).finish(),
            Self::Document(url) => f.debug_tuple("Document").field(url).finish(),
        }
    }
}
