// Lets the search run in a book that is read from a directory: browsers start no worker from a file.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    const base = new URL(url, location.href);
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.inner = frame.contentWindow;
    const load = (address) =>
      new Promise((done, fail) => {
        const script = this.inner.document.createElement("script");
        script.src = new URL(address, base).href;
        script.onload = done;
        script.onerror = fail;
        this.inner.document.head.append(script);
      });
    this.inner.postMessage = (data) => {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    };
    this.inner.importScripts = (...addresses) =>
      addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
    this.ready = load(base);
  }
  postMessage(data) {
    this.ready.then(() => this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })));
  }
  terminate() {
    this.inner.frameElement.remove();
  }
}
if (location.protocol === "file:") window.Worker = FrameWorker;
