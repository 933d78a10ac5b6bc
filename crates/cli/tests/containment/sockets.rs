//! All host sockets that a message from inside could hit. They are not served: hits are read afterwards.

use std::fs;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

pub(crate) struct HostSockets {
    tcp: [Option<TcpListener>; 2],
    udp: [Option<UdpSocket>; 2],
    streams: Vec<(&'static str, UnixListener)>,
    datagrams: Vec<(&'static str, UnixDatagram)>,
    /// Outside the case host's directory.
    paths: Vec<PathBuf>,
    nonce: String,
}

impl HostSockets {
    pub(crate) fn new(dir: &Path, nonce: &str, portal: bool) -> Self {
        let tcp = ["127.0.0.1:0", "[::1]:0"].map(|at| TcpListener::bind(at).ok());
        let udp = ["127.0.0.1:0", "[::1]:0"].map(|at| UdpSocket::bind(at).ok());
        let mut all =
            Self { tcp, udp, streams: vec![], datagrams: vec![], paths: vec![], nonce: nonce.to_owned() };
        all.stream("out", &dir.join("out/s.sock"));
        all.datagram("out", &dir.join("out/d.sock"));
        all.stream("~/.cache", &dir.join("home/.cache/s.sock"));
        all.stream("workspace", &dir.join("ws/host.sock"));
        for (name, above) in [("/tmp", "/tmp"), ("/run", "/run")] {
            // Only root can create one in `/run`.
            let path = Path::new(above).join(format!("{nonce}.s"));
            all.stream(name, &path);
            all.datagram(name, &path.with_extension("d"));
            all.paths.extend([path.with_extension("d"), path]);
        }
        let name = SocketAddr::from_abstract_name(nonce).unwrap();
        all.streams.push(("abstract", UnixListener::bind_addr(&name).unwrap()));
        let name = SocketAddr::from_abstract_name(format!("{nonce}.d")).unwrap();
        all.datagrams.push(("abstract", UnixDatagram::bind_addr(&name).unwrap()));
        if portal {
            open_portal(dir);
        }
        all.set_nonblocking().unwrap();
        all
    }

    fn stream(&mut self, name: &'static str, path: &Path) {
        let Ok(socket) = UnixListener::bind(path) else { return };
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        self.streams.push((name, socket));
    }

    fn datagram(&mut self, name: &'static str, path: &Path) {
        let Ok(socket) = UnixDatagram::bind(path) else { return };
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        self.datagrams.push((name, socket));
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        self.tcp.iter().flatten().try_for_each(|socket| socket.set_nonblocking(true))?;
        self.udp.iter().flatten().try_for_each(|socket| socket.set_nonblocking(true))?;
        self.streams.iter().try_for_each(|(_, socket)| socket.set_nonblocking(true))?;
        self.datagrams.iter().try_for_each(|(_, socket)| socket.set_nonblocking(true))
    }

    /// Returns the ports by the names that scripts use; 0 without IPv6.
    pub(crate) fn port_variables(&self) -> Vec<(&'static str, String)> {
        let tcp = |at: usize| self.tcp[at].as_ref().map_or(0, |socket| socket.local_addr().unwrap().port());
        let udp = |at: usize| self.udp[at].as_ref().map_or(0, |socket| socket.local_addr().unwrap().port());
        vec![
            ("T4", tcp(0).to_string()),
            ("T6", tcp(1).to_string()),
            ("U4", udp(0).to_string()),
            ("U6", udp(1).to_string()),
            ("ABS", self.nonce.clone()),
        ]
    }

    /// Returns the hits since the last call.
    pub(crate) fn take_hits(&self) -> Vec<String> {
        let mut hits = Vec::new();
        for (name, socket) in [4, 6].iter().zip(&self.tcp) {
            if socket.as_ref().is_some_and(|socket| socket.accept().is_ok()) {
                hits.push(format!("a connection to the host's TCP port, IPv{name}"));
            }
        }
        let mut buffer = [0; 16];
        for (name, socket) in [4, 6].iter().zip(&self.udp) {
            if socket.as_ref().is_some_and(|socket| socket.recv_from(&mut buffer).is_ok()) {
                hits.push(format!("a message to the host's UDP port, IPv{name}"));
            }
        }
        for (name, socket) in &self.streams {
            if socket.accept().is_ok() {
                hits.push(format!("a connection to the host's unix socket, {name}"));
            }
        }
        for (name, socket) in &self.datagrams {
            if socket.recv_from(&mut buffer).is_ok() {
                hits.push(format!("a message to the host's unix socket, {name}"));
            }
        }
        hits
    }
}

impl Drop for HostSockets {
    fn drop(&mut self) {
        for path in &self.paths {
            let _gone = fs::remove_file(path);
        }
    }
}

/// Starts a helper outside that passes a directory to each process that connects to `ws/portal.sock`.
fn open_portal(dir: &Path) {
    let path = dir.join("ws/portal.sock");
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let outside = fs::File::open(dir.join("out")).unwrap();
    // Ends with the first connection, or with the tests: nothing waits for it.
    std::thread::spawn(move || {
        let Ok((socket, _)) = listener.accept() else { return };
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [outside.as_fd()];
        control.push(SendAncillaryMessage::ScmRights(&fds));
        let _sent = sendmsg(&socket, &[io::IoSlice::new(b"x")], &mut control, SendFlags::empty());
    });
}
