// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Search on pages that are opened as files: browsers start no workers there, so a hidden frame runs the script.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.ready = new Promise(resolve => {
        frame.onload = () => {
          const inner = frame.contentWindow
          inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
          inner.importScripts = (...urls) => Promise.all(urls.map(each => this.run(inner, each)))
          this.run(inner, url).then(() => resolve(inner))
        }
      })
      document.body.append(frame)
    }
    run(inner, url) {
      return new Promise((resolve, reject) => {
        const script = inner.document.createElement("script")
        script.src = url
        script.onload = resolve
        script.onerror = reject
        inner.document.body.append(script)
      })
    }
    postMessage(data) {
      this.ready.then(inner => inner.dispatchEvent(new inner.MessageEvent("message", { data })))
    }
  }
}
