//! Installs the TLS crypto provider.

use std::sync::Once;

/// Installs `ring` as the crypto provider, unless the program has installed one.
pub(crate) fn install_provider() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that a provider is installed already.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
    });
}
