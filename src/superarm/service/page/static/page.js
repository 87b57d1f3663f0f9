// The page: which part of it is shown, the key, the colours and the shortcuts.

import { key } from "./api.js";
import { banditView } from "./bandit.js";
import { banditsList } from "./bandits.js";
import { openCreate } from "./create.js";
import { el } from "./dom.js";
import { openExplanation } from "./explain.js";
import { field, note, openForm, openPanel, problemBox } from "./panels.js";
import { shortcuts } from "./shortcuts.js";
import { toggleTheme } from "./theme.js";

const main = document.getElementById("main");
const side = banditsList({ onnew: newBandit, onproblem });
let view = null;
let route = { id: null, decision: null };
let panel = null;
let isLocked = false;

document.getElementById("side").append(side.root);
document.getElementById("theme").addEventListener("click", toggleTheme);
document.getElementById("help").addEventListener("click", help);
document.querySelector(".skip").addEventListener("click", (event) => (event.preventDefault(), main.focus()));
document.getElementById("key").addEventListener("click", () => askKey());

const address = (id, decision) =>
  `#/b/${encodeURIComponent(id)}${decision ? `/d/${encodeURIComponent(decision)}` : ""}`;

function routeOf(hash) {
  const [, id = null, decision = null] = /^#\/b\/([^/]+)(?:\/d\/([^/]+))?$/.exec(hash) ?? [];
  try {
    return { id: id && decodeURIComponent(id), decision: decision && decodeURIComponent(decision) };
  } catch {
    return { id: null, decision: null };
  }
}

// Shows what the address says; the focus goes to the heading of a new view, not at the first load.
function show({ focus = true } = {}) {
  const wanted = routeOf(location.hash);
  if (isLocked) return;
  if (wanted.id !== route.id || view === null) {
    view?.stop();
    view = wanted.id
      ? banditView(wanted.id, { explain: (decision) => (location.hash = address(wanted.id, decision)), onproblem })
      : null;
    main.replaceChildren(view ? view.root : welcome());
    document.body.dataset.view = view ? "bandit" : "list";
    if (!view) document.title = "superarm";
    const shown = view?.refresh();
    side.select(wanted.id);
    if (focus && view) shown.then(() => view?.title.focus());
    else if (focus) main.focus();
  }
  route = wanted;
  showExplanation(wanted);
}

function showExplanation({ id, decision }) {
  const before = panel;
  panel = null;
  before?.close();
  if (!decision) return;
  const opened = openExplanation(decision, () => {
    if (panel !== opened) return;
    panel = null;
    history.replaceState(null, "", address(id));
    route = routeOf(location.hash);
  });
  panel = opened;
}

const STEPS = [
  ["Make a bandit", "Its arms by name, and how many of them it picks each time: k of m."],
  ["Decide", "It picks the k that look best by what it knows, and tries what it does not know yet."],
  ["Tell", "Say what each picked arm did, from 0 to 1, now or later. It learns, and you can ask why it picked them."],
];

function welcome() {
  return el(
    "article",
    { class: "welcome" },
    el("h1", { tabindex: -1 }, "Pick the best k of m, and watch it learn"),
    el(
      "ol",
      { class: "steps", role: "list" },
      STEPS.map(([name, words]) => el("li", null, el("strong", null, name), el("p", null, words))),
    ),
    el("p", null, el("button", { type: "button", class: "primary", onclick: newBandit }, "New bandit")),
    el(
      "p",
      { class: "muted" },
      "Other programs do the same over HTTP: ",
      el("code", null, "POST /v1/bandits"),
      ", ",
      el("code", null, "/decisions"),
      ", ",
      el("code", null, "/outcomes"),
      ". What they do appears here as it comes. The description is at ",
      el("a", { href: "openapi.json" }, "/openapi.json"),
      ".",
    ),
  );
}

function newBandit() {
  openCreate((made) => {
    note(`Created ${made.name}.`);
    side.refresh();
    location.hash = address(made.id);
  });
}

// A key that is missing or wrong is asked for; a bandit that is not there is said in its place.
function onproblem(error) {
  if (error.status === 401) lock(error);
  else if (error.status === 404 && view)
    insteadOfView(problemBox(error), el("p", null, el("a", { href: "#/" }, "All bandits")));
  else if (!document.querySelector(".note.bad")) note(error);
}

function insteadOfView(...content) {
  view?.stop();
  view = null;
  main.replaceChildren(el("article", { class: "welcome" }, content));
}

// Asks once, and says so on the page for those who close the question.
function lock(error) {
  if (isLocked) return;
  isLocked = true;
  const button = el("button", { type: "button", class: "primary", onclick: () => askKey() }, "Enter a key");
  insteadOfView(el("h1", null, "This server wants a key"), problemBox(error), el("p", null, button));
  askKey(key.get() ? error : null);
}

function askKey(error) {
  const input = el("input", {
    type: "password",
    name: "api-key",
    autocomplete: "off",
    autofocus: true,
    value: key.get(),
  });
  openForm("Key of this server", {
    fields: [
      error && problemBox(error),
      field("Key", input, "Kept in this tab only, and gone when it is closed. Empty to forget it."),
    ],
    submit: "Use this key",
    send: async () => key.set(input.value.trim()),
    done: start,
  });
}

function help() {
  openPanel("Shortcuts", shortcuts.list());
}

function start() {
  isLocked = false;
  show({ focus: false });
  side.refresh();
}

shortcuts.listen({
  "?": ["This list", help],
  n: ["New bandit", newBandit],
  d: ["Decide", () => view?.keys.d()],
  r: ["Decide with rules", () => view?.keys.r()],
  t: ["Tell outcomes of the newest open decision", () => view?.keys.t()],
  e: ["Explain the newest decision", () => view?.keys.e()],
  "/": ["Search arms", () => view?.keys["/"]()],
  p: ["Pause, or go on", () => view?.keys.p()],
  j: ["Next bandit", () => go(1)],
  k: ["Previous bandit", () => go(-1)],
  l: ["Dark or light", toggleTheme],
});

function go(step) {
  const id = side.beside(step);
  if (id) location.hash = address(id);
}

window.addEventListener("hashchange", () => show());
start();
setInterval(() => !document.hidden && !isLocked && side.refresh(), 5000);
