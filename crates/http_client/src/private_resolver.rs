//! Resolves names to private addresses only, for plain HTTP: the addresses that it returns are those that the client
//! connects to, so a name that changes its address between check and connection gains nothing.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use policy::AddressClass;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The future of a lookup.
type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// The error for a name without a private address.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{name}` is {address}, which is no private address, and plain http would show everything to everybody on the way"
)]
pub struct PublicAddressFault {
    /// The name.
    pub name: String,
    /// One of its addresses.
    pub address: IpAddr,
}

/// Resolves names with a lookup function, and leaves public addresses out.
pub(crate) struct PrivateResolver {
    lookup: fn(String) -> Lookup,
}

impl PrivateResolver {
    pub(crate) fn new(lookup: fn(String) -> Lookup) -> Self {
        Self { lookup }
    }
}

/// Looks a name up as other programs of this machine do.
pub(crate) fn lookup_with_system(name: String) -> Lookup {
    Box::pin(async move {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    })
}

impl Resolve for PrivateResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let looking = (self.lookup)(name.clone());
        Box::pin(async move {
            let private = private_addresses(name, &looking.await?)?;
            // The client replaces the port.
            Ok(Box::new(private.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// Returns the private ones of a name's addresses.
fn private_addresses(name: String, found: &[IpAddr]) -> Result<Vec<IpAddr>, PublicAddressFault> {
    let is_private = |address: &&IpAddr| AddressClass::of(**address).may_be_plain_http();
    let private: Vec<IpAddr> = found.iter().filter(is_private).copied().collect();
    match found.first() {
        Some(address) if private.is_empty() => Err(PublicAddressFault { name, address: *address }),
        Some(_) | None => Ok(private),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

    /// A name server that gives a private address first, and then rebinds the name to a public one.
    fn rebinding_lookup(_: String) -> Lookup {
        let public: IpAddr = [203, 0, 113, 7].into();
        let first = LOOKUPS.fetch_add(1, Ordering::SeqCst) == 0;
        let found = if first { vec![public, IpAddr::from([127, 0, 0, 1])] } else { vec![public] };
        Box::pin(std::future::ready(Ok(found)))
    }

    #[tokio::test]
    async fn the_checked_address_is_the_one_that_is_connected_to() {
        crate::install_tls();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _head = stream.read(&mut [0; 1024]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi").unwrap();
        });
        let resolver = Arc::new(PrivateResolver::new(rebinding_lookup));
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).dns_resolver(resolver);
        let client = client.build().unwrap();
        let url = format!("http://gpu.example:{port}/");
        assert_eq!(client.get(&url).send().await.unwrap().text().await.unwrap(), "hi");
        server.join().unwrap();
        let refused = client.get(&url).send().await.unwrap_err();
        let fault = crate::find_cause::<PublicAddressFault>(&refused).expect("the second address is public");
        assert_eq!((fault.name.as_str(), fault.address), ("gpu.example", [203, 0, 113, 7].into()));
        assert_eq!(LOOKUPS.load(Ordering::SeqCst), 2);
    }
}
