// The arms of a bandit: the best by posterior mean, found by name, retired and brought back.

import { addArms, retire } from "./api.js";
import { el, keyed, later, nameOf, say, shown } from "./dom.js";
import { domainOf, intervalOf, keyOfPicture, scaleOf } from "./interval.js";
import { field, note, openForm } from "./panels.js";
import { count, lines, plural, share } from "./words.js";

const ORDERS = {
  mean: ["highest mean", (arm) => -(arm.mean ?? -Infinity)],
  high: ["highest upper end", (arm) => -(arm.high ?? -Infinity)],
  width: ["least certain", (arm) => (arm.low ?? 0) - (arm.high ?? 0)],
  name: ["name", null],
};

export function armsPanel({ id, refresh }) {
  const view = { top: 20, query: "" };
  const search = el("input", {
    type: "search",
    name: "arms",
    "aria-label": "Search arms by name",
    placeholder: "Search arms  /",
    autocomplete: "off",
    maxlength: 200,
  });
  const order = el(
    "select",
    { "aria-label": "Order of the arms" },
    Object.entries(ORDERS).map(([name, [label]]) => el("option", { value: name }, label)),
  );
  const top = el(
    "select",
    { "aria-label": "How many arms" },
    [20, 50].map((n) => el("option", { value: n }, `best ${n}`)),
  );
  const list = el("ul", { class: "arms", role: "list" });
  const scale = el("div", { class: "arm scale-row" });
  const summary = el("p", { class: "muted" });
  const gone = el("ul", { class: "retired", role: "list" });
  const goneTitle = el("summary");
  const goneBox = el("details", { hidden: true }, goneTitle, gone);
  let last = null;

  search.addEventListener(
    "input",
    later(250, () => ((view.query = search.value.trim()), refresh())),
  );
  top.addEventListener("change", () => ((view.top = Number(top.value)), refresh()));
  order.addEventListener("change", () => last && update(last));

  const root = el(
    "section",
    { class: "card", "aria-labelledby": "arms-title" },
    el(
      "header",
      null,
      el("h2", { id: "arms-title" }, "Arms"),
      el("button", { type: "button", class: "quiet", onclick: () => openAdd(id, refresh) }, "Add arms…"),
    ),
    el("div", { class: "tools" }, search, order, top),
    list,
    scale,
    keyOfPicture(false),
    summary,
    goneBox,
  );

  function update(bandit) {
    last = bandit;
    const by = ORDERS[order.value][1];
    const rows = [...bandit.posterior].sort((a, b) => (by ? by(a) - by(b) : a.arm.localeCompare(b.arm)));
    const domain = domainOf(rows);
    keyed(
      list,
      rows,
      (row) => row.arm,
      (row) => makeRow(id, row, refresh),
      (node, row) => updateRow(node, row, domain),
    );
    scale.replaceChildren(el("span"), scaleOf(domain));
    scale.hidden = rows.length === 0;
    say(summary, summaryOf(bandit, rows, view.query));
    goneBox.hidden = bandit.retired.length === 0;
    say(goneTitle, `${count(bandit.retired.length)} retired`);
    keyed(
      gone,
      bandit.retired.slice(0, 50),
      (name) => name,
      (name) => makeRetired(id, name, refresh),
    );
  }
  return { root, view, update, search };
}

function summaryOf(bandit, rows, query) {
  if (rows.length === 0 && query) return `No arm has “${query}” in its name. Clear the search to see all.`;
  if (rows.length === 0) return "This belief keeps no means to show.";
  if (query) return `${plural(rows.length, "arm")} found by name, of ${count(bandit.n_arms)}.`;
  return rows.length < bandit.n_arms
    ? `The best ${count(rows.length)} of ${count(bandit.n_arms)} by mean.`
    : `All ${plural(rows.length, "arm")}.`;
}

function makeRow(id, { arm }, refresh) {
  const button = el("button", {
    type: "button",
    class: "quiet small",
    onclick: () => change(id, arm, button.dataset.to, refresh),
  });
  return el(
    "li",
    { class: "arm" },
    nameOf(arm),
    el("span", { class: "picture" }),
    el("span", { class: "figure" }),
    button,
  );
}

function updateRow(node, row, domain) {
  const [, picture, figure, button] = node.children;
  const now = JSON.stringify([row, domain]);
  if (node.dataset.now === now) return;
  node.dataset.now = now;
  picture.replaceChildren(intervalOf(row, domain, row.retired ? "out" : "in"));
  const range = row.low === null || row.low === undefined ? "" : `95% interval ${share(row.low)} to ${share(row.high)}`;
  figure.replaceChildren(share(row.mean), el("span", { class: "hidden" }, range && `, ${range}`));
  node.title = range;
  button.dataset.to = row.retired ? "restore" : "retire";
  say(button, row.retired ? "Restore" : "Retire");
  button.setAttribute("aria-label", `${button.textContent} ${shown(row.arm)}`);
  node.classList.toggle("is-retired", Boolean(row.retired));
}

const makeRetired = (id, name, refresh) =>
  el(
    "li",
    null,
    nameOf(name),
    el(
      "button",
      {
        type: "button",
        class: "quiet small",
        "aria-label": `Restore ${shown(name)}`,
        onclick: () => change(id, name, "restore", refresh),
      },
      "Restore",
    ),
  );

async function change(id, arm, to, refresh) {
  try {
    await (to === "retire" ? retire(id, arm) : addArms(id, { arms: [arm] }));
    const back = { label: "Undo", run: () => change(id, arm, "restore", refresh) };
    note(
      to === "retire" ? `Retired ${shown(arm)}: it is not picked any more.` : `Restored ${shown(arm)}.`,
      to === "retire" && back,
    );
  } catch (error) {
    note(error);
  }
  refresh();
}

function openAdd(id, refresh) {
  const names = el("textarea", { name: "names", rows: 6, required: true, autofocus: true, spellcheck: "false" });
  openForm("Add arms", {
    fields: field(
      "Names, one a line",
      names,
      "A retired name given again is brought back, with all that is known of it.",
    ),
    submit: "Add",
    send: async () => addArms(id, { arms: lines(names.value) }),
    done: () => (note(`Added ${plural(lines(names.value).length, "arm")}.`), refresh()),
  });
}
