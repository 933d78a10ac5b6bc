"""An MCP server over HTTP that misbehaves as its argument says. Standard library only.

    python3 web.py MODE

It says its port on standard output, speaks the older era (2025-11-25) and has one tool, `echo`, that says its `text` back,
unless the mode says otherwise.

    honest       nothing is wrong with it
    bomb         answers a call with JSON that does not end
    many         answers a call with JSON of 4,000,000 empty objects
    events-bomb  answers a call with an event that does not end
    events-many  answers a call with an event of 4,000,000 empty objects
    refusal      refuses a call with a body that does not end
    hurries      closes its stream at once, wants it to be opened again at once, and `echo` says how often it was
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[1]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ECHO = {"name": "echo", "description": "Says it back.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}}
INFO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}}
opened = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def head(self, status, kind, length=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Mcp-Session-Id", "s")
        if length is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def do_GET(self):
        global opened
        opened += 1
        if MODE != "hurries":
            return self.head(405, "text/plain", 0)
        self.head(200, "text/event-stream")
        self.wfile.write(b"id: 1\nretry: 0\n\n")

    def do_DELETE(self):
        self.head(200, "text/plain", 0)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, ident = message.get("method"), message.get("id")
        if ident is None:
            return self.head(202, "text/plain", 0)
        if method == "tools/call":
            return self.call(ident, message["params"]["arguments"]["text"])
        known = {"initialize": INFO, "tools/list": {"tools": [ECHO]}, "ping": {}}
        if method in known:
            return self.answer({"id": ident, "result": known[method]})
        self.answer({"id": ident, "error": {"code": -32601, "message": "Method not found"}})

    def answer(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.head(200, "application/json", len(body))
        self.wfile.write(body)

    def call(self, ident, text):
        before = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[' % json.dumps(ident).encode()
        kind = "text/event-stream" if MODE.startswith("events") else "application/json"
        data = b"data: " if MODE.startswith("events") else b""
        if MODE.endswith("bomb") or MODE == "refusal":
            self.head(400 if MODE == "refusal" else 200, kind)
            self.wfile.write(data + before + b'{"type":"text","text":"')
            while True:
                self.wfile.write(b"x" * 1_000_000)
        if MODE.endswith("many"):
            self.head(200, kind)
            self.wfile.write(data + before + b"{}," * 4_000_000 + b"{}]}}\n\n")
            return
        text = str(opened) if MODE == "hurries" else text
        self.answer({"id": ident, "result": {"content": [{"type": "text", "text": text}]}})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
