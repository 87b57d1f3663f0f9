// Single keys, listed under "?", and turned off by those who speak to their computer.

import { el } from "./dom.js";

const PLACE = "superarm-shortcuts";
let known = {};

const isOff = () => localStorage.getItem(PLACE) === "off";
const isTyping = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");

export const shortcuts = {
  listen(keys) {
    known = keys;
    document.addEventListener("keydown", (event) => {
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.repeat ||
        isTyping(event.target) ||
        document.querySelector("dialog[open]")
      )
        return;
      if (!Object.hasOwn(known, event.key) || (isOff() && event.key !== "?")) return;
      event.preventDefault();
      known[event.key][1]();
    });
  },
  list() {
    const box = el("input", {
      type: "checkbox",
      id: "use-shortcuts",
      onchange: () => (box.checked ? localStorage.removeItem(PLACE) : localStorage.setItem(PLACE, "off")),
    });
    box.checked = !isOff();
    const rows = [
      ...Object.entries(known).map(([key, [words]]) => [key, words]),
      ["Esc", "Close what lies on top"],
      ["← →", "Read off the chart, when it has the focus"],
    ];
    return el(
      "div",
      { class: "shortcuts" },
      el(
        "dl",
        null,
        rows.map(([key, words]) => el("div", null, el("dt", null, el("kbd", null, key)), el("dd", null, words))),
      ),
      el("label", { for: "use-shortcuts" }, box, " Use single-key shortcuts"),
    );
  },
};
