// Browsers start no workers from files, so pages that are opened from a disk search in a frame.
if (location.protocol === "file:") {
  const hand = (to, data) => to.dispatchEvent(new MessageEvent("message", { data }))
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.srcdoc = `<script src="${url}"></script>`
      const loaded = new Promise((done) => frame.addEventListener("load", done))
      loaded.then(() => (frame.contentWindow.postMessage = (data) => hand(this, data)))
      this.postMessage = (data) => loaded.then(() => hand(frame.contentWindow, data))
      document.documentElement.append(frame)
    }
  }
}
