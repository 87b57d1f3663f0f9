// Single-key shortcuts. People who dictate to their computer can turn them off.

import { html, useEffect } from "./html.js";

const SETTING = "superarm-shortcuts";
const TYPING = "input, textarea, select, [contenteditable]";

/** What each key does, in the order of the list. */
const KEYS = {
  "?": "Show this list",
  n: "New bandit",
  d: "Decide",
  r: "Decide with constraints",
  t: "Tell outcomes of the newest open decision",
  e: "Explain the newest decision",
  "/": "Search arms",
  p: "Pause or resume live updates",
  j: "Next bandit",
  k: "Previous bandit",
  l: "Switch between dark and light",
};
const OTHER_KEYS = {
  Esc: "Close the dialog",
  "← →": "Read points of the chart, when the chart has the focus",
};

/** @type {Map<string, () => void>} */
const handlers = new Map();

const isOff = () => localStorage.getItem(SETTING) === "off";

/**
 * Handles keys while the component is shown.
 * @param {Partial<Record<keyof typeof KEYS, () => void>>} given
 */
export function useShortcuts(given) {
  useEffect(() => {
    for (const [key, run] of Object.entries(given)) handlers.set(key, run);
    return () => Object.keys(given).forEach((key) => handlers.delete(key));
  });
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (target instanceof Element && target.closest(TYPING)) return;
  if (document.querySelector("dialog[open]") || (isOff() && key !== "?")) return;
  const run = handlers.get(key);
  if (!run) return;
  event.preventDefault();
  run();
});

export function ShortcutList() {
  /** @param {{ currentTarget: HTMLInputElement }} event */
  const onchange = ({ currentTarget }) => {
    if (currentTarget.checked) localStorage.removeItem(SETTING);
    else localStorage.setItem(SETTING, "off");
  };
  const rows = Object.entries({ ...KEYS, ...OTHER_KEYS });
  return html`<div class="shortcuts">
    <dl>
      ${rows.map(
        ([key, words]) =>
          html`<div>
            <dt><kbd>${key}</kbd></dt>
            <dd>${words}</dd>
          </div>`,
      )}
    </dl>
    <label for="use-shortcuts">
      <input
        type="checkbox"
        id="use-shortcuts"
        defaultChecked=${!isOff()}
        onchange=${onchange} />${" "}Use single-key shortcuts
    </label>
  </div>`;
}
