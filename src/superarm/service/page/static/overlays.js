// The state of what lies over the page, and the actions that change it.

/** @import { Note, PageActions } from "../types" */

import { Problem } from "./api.js";
import { html, useMemo, useState } from "./html.js";
import { NoteBox, Panel } from "./panels.js";

const MOST_NOTES = 3;

/** @typedef {{ serial: number, title: string, content: unknown }} Dialog */

export function useOverlays() {
  const [dialog, setDialog] = useState(/** @type {Dialog | null} */ (null));
  const [notes, setNotes] = useState(/** @type {Note[]} */ ([]));
  const [announcement, announce] = useState("");
  const [locked, setLocked] = useState(/** @type {Problem | null} */ (null));

  const actions = useMemo(() => {
    let serial = 0;
    /** @type {PageActions} */
    const made = {
      announce,
      open(title, content) {
        serial += 1;
        setDialog({ serial, title, content });
      },
      note(content, action) {
        serial += 1;
        const added = { serial, content, action };
        setNotes((all) => [...all, added].slice(-MOST_NOTES));
        if (typeof content === "string") announce(content);
      },
      // A missing or wrong key locks the page. Another problem is shown once, until dismissed.
      onproblem(error) {
        serial += 1;
        const isAway = error instanceof Problem && error.status === 0;
        const added = { serial, content: error, isAway };
        const isBad = (/** @type {Note} */ { content }) => content instanceof Error;
        if (error instanceof Problem && error.status === 401) setLocked((now) => now ?? error);
        else setNotes((all) => (all.some(isBad) ? all : [...all, added].slice(-MOST_NOTES)));
      },
      // That the server cannot be reached is not true any more.
      onanswer() {
        setNotes((all) =>
          all.some(({ isAway }) => isAway) ? all.filter((one) => !one.isAway) : all,
        );
      },
    };
    return made;
  }, []);

  // A dialog may be replaced before its close event arrives.
  const close = () => setDialog((now) => (now?.serial === dialog?.serial ? null : now));
  /** @param {number} serial */
  const dismiss = (serial) => setNotes((all) => all.filter((note) => note.serial !== serial));

  const overlays = html`
    ${
      dialog &&
      html`<${Panel} key=${dialog.serial} title=${dialog.title} onclose=${close}>
        ${dialog.content}
      <//>`
    }
    <div id="arrivals" class="hidden" role="status" aria-live="polite">${announcement}</div>
    <div id="notes" role="region" aria-label="Notes">
      ${notes.map(
        (note) =>
          html`<${NoteBox} key=${note.serial} note=${note}
            dismiss=${() => dismiss(note.serial)} />`,
      )}
    </div>
  `;
  return { overlays, actions, locked, unlock: () => setLocked(null) };
}
