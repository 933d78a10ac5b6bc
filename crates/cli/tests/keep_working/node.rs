//! `node` and `npm` workloads: offline installation, processes, threads, sockets.

use crate::workload::{NO_CACHES, NO_INTERNET, Workload};

pub(crate) const ALL: &[Workload] = &[
    Workload::new(
        "npm_install_from_a_file_and_test",
        &[r#"npm install --offline --no-audit --no-fund "$SHELF/npm/keep-tiny-1.0.0.tgz"; npm test"#],
    )
    .shelf(&["npm"])
    .before(PROJECT)
    .after(r#"node test.js; is "$(cat built)" tiny; grep -q keep-tiny package-lock.json"#),
    Workload::new(
        "npm_install_from_the_users_cache",
        &[r#"npm install --offline --no-audit --no-fund --registry "$(cat "$SHELF/npm/url")" keep-tiny@1"#],
    )
    .shelf(&["npm"])
    .before(CACHED)
    .after(r#"node test.js; is "$(node_modules/.bin/keep-tiny)" tiny"#)
    .namespaces(NO_CACHES),
    Workload::new("npm_ci", &["npm ci --offline --no-audit --no-fund"])
        .shelf(&["npm"])
        .before(LOCKED)
        .after("node test.js; test -d node_modules/keep-tiny"),
    Workload::new("node_processes_and_threads", &["node all.js; node --test test.mjs"])
        .before(PROCESSES)
        .after("test -e copied"),
    Workload::new("node_unix_socket_and_watching", &["node sock.js"])
        .before(SOCKET)
        .after("test ! -e s.sock"),
    Workload::new("node_http_server_and_client", &["node http.js"]).before(HTTP).namespaces(NO_INTERNET),
];

const PROJECT: &str = r#"echo '{"scripts": {"test": "keep-tiny >built && node test.js"}}' >package.json
echo 'require("assert").equal(require("keep-tiny")(), "tiny"); console.log("passed");' >test.js"#;

const CACHED: &str = r#"cp -r "$SHELF/npm/cache" ~/.npm; echo '{}' >package.json
echo 'require("assert").equal(require("keep-tiny")(), "tiny"); console.log("passed");' >test.js"#;

const LOCKED: &str = r#"cp "$SHELF/npm/keep-tiny-1.0.0.tgz" tiny.tgz
echo '{"name": "project", "version": "1.0.0", "dependencies": {"keep-tiny": "file:tiny.tgz"}}' >package.json
cat >package-lock.json <<'END'
{"name": "project", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
  "": {"name": "project", "version": "1.0.0", "dependencies": {"keep-tiny": "file:tiny.tgz"}},
  "node_modules/keep-tiny": {"version": "1.0.0", "resolved": "file:tiny.tgz", "bin": {"keep-tiny": "cli.js"}}}}
END
echo 'require("assert").equal(require("keep-tiny")(), "tiny"); console.log("passed");' >test.js"#;

const PROCESSES: &str = r#"cat >all.js <<'END'
const { execSync, execFileSync, spawn, fork } = require('child_process');
const { Worker, isMainThread, parentPort } = require('worker_threads');
const assert = require('assert');
if (!isMainThread) { parentPort.postMessage(42); return; }
if (process.send) { process.on('message', m => { process.send(m + 1); process.disconnect(); }); return; }
const once = (it, event) => new Promise((done, fail) => { it.on(event, done); it.on('error', fail); });
(async () => {
  assert.equal(execSync('echo hi | tr h H').toString(), 'Hi\n');
  assert.equal(execFileSync(process.execPath, ['-p', '1+1'], { input: '' }).toString(), '2\n');
  assert.equal(await once(new Worker(__filename), 'message'), 42);
  const child = fork(__filename);
  child.send(1);
  assert.equal(await once(child, 'message'), 2);
  const cat = spawn('cat');
  cat.stdin.end('through a pipe');
  assert.equal((await once(cat.stdout, 'data')).toString(), 'through a pipe');
  const shell = spawn('sleep', ['100'], { detached: true });
  process.kill(-shell.pid);
  await once(shell, 'exit');
  const { once: later } = require('events');
  const alive = setInterval(() => {}, 1000);
  setTimeout(() => process.kill(process.pid, 'SIGUSR2'), 10);
  await later(process, 'SIGUSR2');
  clearInterval(alive);
  const code = new Function('let s = 0; for (let i = 0; i < 1e6; i++) s += i; return s');
  assert.equal(code(), 499999500000);
  await new Promise((done, fail) => require('fs').writeFile('written', 'x', e => e ? fail(e) : done()));
  await new Promise((done, fail) => require('zlib').gzip('x', e => e ? fail(e) : done()));
  require('fs').cpSync('written', 'copied');
  assert(require('os').cpus().length > 0);
})().catch(e => { console.error(e); process.exit(1); });
END
cat >test.mjs <<'END'
import test from 'node:test';
import assert from 'node:assert';
test('it', () => assert.equal(1, 1));
END"#;

const SOCKET: &str = r#"cat >sock.js <<'END'
const net = require('net'), fs = require('fs'), assert = require('assert');
const server = net.createServer(c => c.pipe(c)).listen('s.sock', () => {
  const c = net.connect('s.sock', () => c.write('echo'));
  c.on('data', d => {
    assert.equal(d.toString(), 'echo');
    c.destroy();
    server.close();
    const watcher = fs.watch('.', (what, name) => {
      if (name == 'seen') { watcher.close(); fs.unlinkSync('seen'); }
    });
    setTimeout(() => fs.writeFileSync('seen', ''), 50);
  });
});
END"#;

const HTTP: &str = r#"cat >http.js <<'END'
const http = require('http'), assert = require('assert');
const server = http.createServer((q, a) => a.end('served ' + q.url)).listen(0, 'localhost', async () => {
  const got = await (await fetch(`http://localhost:${server.address().port}/x`)).text();
  assert.equal(got, 'served /x');
  server.close();
  server.closeAllConnections();
});
END"#;
