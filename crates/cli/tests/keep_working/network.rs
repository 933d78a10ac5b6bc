//! Network workloads: servers and clients inside one run, and programs that look for a network.

use crate::workload::{NO_INTERNET, Workload};

pub(crate) const ALL: &[Workload] = &[
    Workload::new(
        "server_and_client_on_localhost",
        &[r#"python3 -u serve.py >port & wait_for test -s port; p=$(cat port)
          python3 -c "import urllib.request as u; print(u.urlopen('http://localhost:$p/page').read())"
          (exec 3<>/dev/tcp/127.0.0.1/$p; printf 'GET /page HTTP/1.0\r\n\r\n' >&3; tail -n 1 <&3); kill %1"#],
    )
    .before(SERVE)
    .namespaces(NO_INTERNET)
    .same_output(),
    Workload::new(
        "curl_to_localhost",
        &[r#"python3 -u serve.py >port & wait_for test -s port; p=$(cat port)
          for host in 127.0.0.1 localhost; do curl -sS --noproxy '*' "http://$host:$p/page"; done; kill %1"#],
    )
    .programs(&["curl"])
    .before(SERVE)
    .namespaces(NO_INTERNET)
    .same_output(),
    Workload::new(
        "network_that_is_switched_on",
        &[r#"wait_for test -s port; p=$(cat port)
          python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$p/page').read())"
          touch done"#],
    )
    .flags(&["--network", "on"])
    .before(SERVE)
    .beside_a_person("python3 -u serve.py >port & wait_for test -e done; kill %1")
    .same_output(),
    Workload::new("network_that_is_switched_off", &["echo works; cat <<<too"])
        .flags(&["--network", "off"])
        .same_output(),
    Workload::new("sockets_of_all_kinds", &["python3 n.py"]).before(SOCKETS).namespaces(NO_INTERNET),
    Workload::new("names_are_answered_at_once", &[NAMES]).namespaces(NO_INTERNET),
    Workload::new("no_network_is_said_at_once", &[NO_NETWORK]),
    Workload::new("package_managers_say_so_at_once", &[MANAGERS]).before("echo '{}' >package.json"),
];

const SERVE: &str = r#"echo served >page; cat >serve.py <<'END'
from http.server import HTTPServer, SimpleHTTPRequestHandler
SimpleHTTPRequestHandler.log_message = lambda *_: None
server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
print(server.server_port)
server.serve_forever()
END"#;

const SOCKETS: &str = r#"cat >n.py <<'END'
import socket, threading
def tcp(family, address):
    server = socket.create_server((address, 0), family=family)
    client = socket.create_connection(server.getsockname()[:2], 10)
    peer = server.accept()[0]
    client.sendall(b"x"); assert peer.recv(1) == b"x"
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.getpeername(); client.shutdown(socket.SHUT_RDWR)
def udp(family, address):
    server, client = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    server.bind((address, 0)); server.settimeout(10)
    client.sendto(b"x", server.getsockname()); assert server.recvfrom(1)[0] == b"x"
for host in ["127.0.0.1", "localhost", "127.0.0.2"]: tcp(socket.AF_INET, host)
udp(socket.AF_INET, "127.0.0.1")
if socket.has_ipv6:
    tcp(socket.AF_INET6, "::1"); udp(socket.AF_INET6, "::1")
dual = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
socket.create_connection(("127.0.0.1", dual.getsockname()[1]), 10)
any = socket.create_server(("0.0.0.0", 0)); socket.create_connection(("127.0.0.1", any.getsockname()[1]), 10)
assert socket.getaddrinfo("localhost", 80); assert socket.gethostbyname("localhost") == "127.0.0.1"
try:
    free = any.getsockname()[1]; any.close()
    socket.create_connection(("127.0.0.1", free), 10); raise SystemExit("connected")
except ConnectionRefusedError: pass
END"#;

/// Not run outside: it would query a foreign DNS server.
const NAMES: &str = r#"[ "$TIER" = none ] && exit; s=$(date +%s)
timeout 30 getent hosts keep.example.org && exit 1; timeout 30 python3 - <<'END'
import socket
try: socket.getaddrinfo("keep.example.org", 80); raise SystemExit("there is a network")
except socket.gaierror as error: print(error)
try: socket.create_connection(("192.0.2.1", 80), 30); raise SystemExit("there is a network")
except TimeoutError: raise SystemExit("it hangs")
except OSError as error: print(error)
END
test $(($(date +%s) - s)) -lt 10"#;

const NO_NETWORK: &str = r#"[ "$TIER" = none ] && exit; s=$(date +%s)
fails timeout 30 python3 -c 'import urllib.request; urllib.request.urlopen("http://keep.example.org/")'
code() { e=0; timeout 30 "$@" || e=$?; test $e -ne 0; test $e -ne 124; }
if type -P curl >/dev/null; then code curl -sS --noproxy '*' https://keep.example.org/; fi
code node -e 'fetch("http://keep.example.org/").then(() => 0, e => { console.log(e.cause?.code); process.exit(7); })'
is $e 7; code git ls-remote https://keep.example.org/x.git; is $e 128
test $(($(date +%s) - s)) -lt 20"#;

const MANAGERS: &str = r#"[ "$TIER" = none ] && exit
code() { e=0; timeout 50 "$@" || e=$?; test $e -ne 0; test $e -ne 124; }
code npm install --no-audit --no-fund --fetch-retries=0 --registry https://keep.example.org/ keep-none
code python3 -m pip download -q --retries 0 --index-url https://keep.example.org/simple keep-none"#;
