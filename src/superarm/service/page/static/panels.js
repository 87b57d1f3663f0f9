// What lies over the page (dialogs, short notes) and what is said aloud.

import { el, say } from "./dom.js";

// Problems of RFC 9457, as the server writes them: what is wrong, what was expected, what came, how to mend it.
export function problemBox(error) {
  const { title, detail, expected, got, fix, errors } = error.body ?? {
    detail: `Something went wrong: ${error.message}`,
  };
  const facts = [
    ["expected", expected],
    ["got", got],
  ].filter(([, value]) => value !== undefined && value !== null);
  return el(
    "div",
    { class: "problem", role: "alert" },
    el("strong", { dir: "auto" }, sentence(text(detail ?? title ?? error.message))),
    facts.length > 0 &&
      el(
        "dl",
        null,
        facts.map(([name, value]) => [el("dt", null, name), el("dd", { dir: "auto" }, text(value))]),
      ),
    Array.isArray(errors) &&
      errors.length > 1 && // of one, the detail tells all
      el(
        "ul",
        null,
        errors
          .slice(0, 5)
          .map((one) => el("li", { dir: "auto" }, text(one.at && one.detail ? `${one.at}: ${one.detail}` : one))),
      ),
    fix && el("p", { class: "fix", dir: "auto" }, text(fix)),
  );
}

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 600);

const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

// A dialog that goes away for good when it is closed; the browser keeps the focus in it, and Escape closes it.
export function openPanel(title, content, { side = false, onclose } = {}) {
  const heading = el("h2", { id: "panel-title", tabindex: -1 }, title);
  const close = el(
    "button",
    { type: "button", class: "quiet icon", "aria-label": "Close", onclick: () => panel.close() },
    "✕",
  );
  const panel = el(
    "dialog",
    { class: side ? "panel side" : "panel", "aria-labelledby": "panel-title" },
    el("header", null, heading, close),
    content,
  );
  panel.addEventListener("click", (event) => event.target === panel && panel.close());
  panel.addEventListener("close", () => {
    panel.remove();
    onclose?.();
  });
  document.body.append(panel);
  panel.showModal();
  (panel.querySelector("[autofocus]") ?? heading).focus();
  return panel;
}

// A form in a panel: sends, shows the problem if there is one, and closes if there is none.
export function openForm(title, { fields, submit, send, done, note }) {
  const trouble = el("div");
  const button = el("button", { type: "submit", class: "primary" }, submit);
  const form = el(
    "form",
    { class: "form", novalidate: true },
    fields,
    trouble,
    el(
      "footer",
      null,
      note && el("span", { class: "muted" }, note),
      el("button", { type: "button", class: "quiet", onclick: () => panel.close() }, "Cancel"),
      button,
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    trouble.replaceChildren();
    button.disabled = true;
    try {
      const answer = await send(form);
      panel.close();
      done?.(answer);
    } catch (error) {
      trouble.replaceChildren(problemBox(error));
      trouble.scrollIntoView({ block: "nearest" });
    } finally {
      button.disabled = false;
    }
  });
  const panel = openPanel(title, form);
  return panel;
}

// A label, its control and a hint that belongs to it.
export function field(label, control, hint) {
  const id = `field-${control.getAttribute("name")}`;
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, label),
    control,
    hint && el("small", { id: `${id}-hint` }, hint),
  );
}

// A short note at the edge, with perhaps one thing to do; problems stay until they are closed.
export function note(content, action) {
  const isProblem = content instanceof Error;
  const close = () => box.remove();
  const box = el(
    "div",
    { class: isProblem ? "note bad" : "note" },
    isProblem ? problemBox(content) : el("span", { dir: "auto" }, content),
    action && el("button", { type: "button", onclick: () => (close(), action.run()) }, action.label),
    el("button", { type: "button", class: "quiet icon", "aria-label": "Dismiss", onclick: close }, "✕"),
  );
  const notes = document.getElementById("notes");
  notes.append(box);
  while (notes.children.length > 3) notes.firstElementChild.remove();
  if (!isProblem) {
    announce(content);
    setTimeout(close, 8000);
  }
}

export const announce = (words) => say(document.getElementById("arrivals"), words);
