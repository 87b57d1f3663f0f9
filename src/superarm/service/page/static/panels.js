// What lies over the page: dialogs, forms in dialogs, notes and problems.

/** @import { ComponentChildren } from "preact" */
/** @import { Note, PageActions } from "../types" */

import { Problem } from "./api.js";
import { Button } from "./controls.js";
import {
  createContext,
  html,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "./html.js";

const LONGEST_TEXT = 600;
const MOST_ERRORS = 5;
const NOTE_MS = 8000;

const PageContext = createContext(/** @type {PageActions | null} */ (null));
export const PageProvider = PageContext.Provider;

/** The actions that every component may use: open a dialog, show a note, announce a text. */
export const usePage = () => /** @type {PageActions} */ (useContext(PageContext));

/** @param {unknown} value */
const asText = (value) =>
  (typeof value === "string" ? value : JSON.stringify(value)).slice(0, LONGEST_TEXT);

/** @param {string} words */
const capitalized = (words) => words.charAt(0).toUpperCase() + words.slice(1);

/**
 * A problem as the server describes it: what is wrong, what was expected, what came, how to fix it.
 * @param {{ error: Error }} props
 */
export function ProblemBox({ error }) {
  const body =
    error instanceof Problem ? error.body : { detail: `Something went wrong: ${error.message}` };
  const { title, detail, expected, got, fix, errors } = body;
  const facts = Object.entries({ expected, got }).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  // A single error is already in the detail.
  const list = Array.isArray(errors) && errors.length > 1 ? errors.slice(0, MOST_ERRORS) : [];
  return html`<div class="problem" role="alert">
    <strong dir="auto">${capitalized(asText(detail ?? title ?? error.message))}</strong>
    ${
      facts.length > 0 &&
      html`<dl>
        ${facts.map(
          ([name, value]) =>
            html`<dt>${name}</dt>
              <dd dir="auto">${asText(value)}</dd>`,
        )}
      </dl>`
    }
    ${
      list.length > 0 &&
      html`<ul>
        ${list.map(
          (one) =>
            html`<li dir="auto">
              ${asText(one.at && one.detail ? `${one.at}: ${one.detail}` : one)}
            </li>`,
        )}
      </ul>`
    }
    ${fix && html`<p class="fix" dir="auto">${asText(fix)}</p>`}
  </div>`;
}

/** @param {Event} event of an element in the panel */
const closePanel = ({ currentTarget }) => {
  if (currentTarget instanceof Element) currentTarget.closest("dialog")?.close();
};

/**
 * A modal dialog. The browser keeps the focus inside, closes the dialog on Escape, and then gives
 * the focus back.
 * @param {{
 *   title: string,
 *   side?: boolean,
 *   onclose?: () => void,
 *   children?: ComponentChildren,
 * }} props
 */
export function Panel({ title, side = false, onclose, children }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  // A layout effect, so that the next key press already goes to the dialog.
  useLayoutEffect(() => {
    const panel = /** @type {HTMLDialogElement} */ (ref.current);
    panel.showModal();
    const first = panel.querySelector("[data-focus]") ?? panel.querySelector("h2");
    /** @type {HTMLElement} */ (first).focus();
    return () => panel.close(); // gives the focus back, before the element is removed
  }, []);
  /** @param {MouseEvent} event */
  const onclick = ({ target }) => target === ref.current && ref.current?.close();
  return html`<dialog ref=${ref} class=${side ? "panel side" : "panel"}
    aria-labelledby="panel-title" onclick=${onclick} onclose=${onclose}>
    <header>
      <h2 id="panel-title" tabindex="-1">${title}</h2>
      <${Button} class="quiet icon" aria-label="Close" onclick=${closePanel}>✕<//>
    </header>
    ${children}
  </dialog>`;
}

/**
 * A form in a panel. It sends, then closes, or shows the problem.
 * @template T
 * @param {{
 *   submit: string,
 *   send: (form: HTMLFormElement) => Promise<T>,
 *   done?: (answer: T) => void,
 *   children?: ComponentChildren,
 * }} props
 */
export function Form({ submit, send, done, children }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [isSending, setSending] = useState(false);
  const trouble = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    if (error) trouble.current?.scrollIntoView({ block: "nearest" });
  }, [error]);

  /** @param {SubmitEvent} event */
  async function onsubmit(event) {
    event.preventDefault();
    if (isSending) return;
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    setError(null);
    setSending(true);
    try {
      const answer = await send(form);
      form.closest("dialog")?.close();
      done?.(answer);
    } catch (problem) {
      setError(/** @type {Error} */ (problem));
    } finally {
      setSending(false);
    }
  }

  return html`<form class="form" novalidate onsubmit=${onsubmit}>
    ${children}
    <div ref=${trouble}>${error && html`<${ProblemBox} error=${error} />`}</div>
    <footer>
      <${Button} class="quiet" onclick=${closePanel}>Cancel<//>
      <button type="submit" class="primary" disabled=${isSending}>${submit}</button>
    </footer>
  </form>`;
}

/**
 * A short note at the edge, optionally with one action. Problems stay until they are dismissed.
 * @param {{ note: Note, dismiss: () => void }} props
 */
export function NoteBox({ note: { content, action }, dismiss }) {
  const isProblem = content instanceof Error;
  useEffect(() => {
    if (isProblem) return undefined;
    const timer = setTimeout(dismiss, NOTE_MS);
    return () => clearTimeout(timer);
  }, []);
  const run = () => {
    dismiss();
    action?.run();
  };
  return html`<div class=${isProblem ? "note bad" : "note"}>
    ${
      isProblem
        ? html`<${ProblemBox} error=${content} />`
        : html`<span dir="auto">${content}</span>`
    }
    ${action && html`<${Button} onclick=${run}>${action.label}<//>`}
    <${Button} class="quiet icon" aria-label="Dismiss" onclick=${dismiss}>✕<//>
  </div>`;
}
