//! The one TLS of this program.

use std::sync::Once;

/// Makes `ring` what does the cryptography, unless the program has chosen already.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error says that somebody was faster.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
    });
}
