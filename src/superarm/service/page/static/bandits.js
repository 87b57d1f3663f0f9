// The list of bandits at the side.

import { bandits } from "./api.js";
import { el, keyed, nameOf, say } from "./dom.js";
import { count, plural } from "./words.js";

export function banditsList({ onnew, onproblem }) {
  const search = el("input", {
    type: "search",
    name: "bandits",
    "aria-label": "Search bandits by name",
    placeholder: "Search bandits",
    autocomplete: "off",
  });
  const list = el("ul", { role: "list", "aria-label": "Bandits" });
  const more = el("button", { type: "button", class: "quiet", hidden: true, onclick: showMore }, "Show more");
  const empty = el("p", { class: "empty", hidden: true });
  const root = el(
    "nav",
    { class: "bandits", id: "bandits", "aria-label": "Bandits", tabindex: -1 },
    el("div", { class: "tools" }, search, el("button", { type: "button", class: "primary", onclick: onnew }, "New")),
    list,
    more,
    empty,
  );
  let known = [];
  let next = null;
  let pages = 1;
  let current = null;
  search.addEventListener("input", draw);

  async function showMore() {
    pages += 1;
    await refresh();
  }

  async function refresh() {
    try {
      const found = [];
      next = undefined;
      for (let page = 0; page < pages && next !== null; page += 1) {
        const answer = await bandits(next);
        found.push(...answer.bandits);
        next = answer.next ?? null;
      }
      known = found;
      draw();
      return known;
    } catch (error) {
      onproblem(error);
      return null;
    }
  }

  function draw() {
    const wanted = search.value.trim().toLocaleLowerCase();
    const rows = known.filter((one) => one.name.toLocaleLowerCase().includes(wanted));
    keyed(
      list,
      rows,
      (one) => one.id,
      makeRow,
      (node, one) => updateRow(node, one, current),
    );
    more.hidden = next === null;
    document.body.dataset.bandits = known.length ? "some" : "none";
    empty.hidden = rows.length > 0;
    say(empty, "No bandit of that name here.");
  }

  return {
    root,
    refresh,
    select(id) {
      current = id;
      draw();
    },
    // The bandit that stands before or after the selected one.
    beside(step) {
      const ids = [...list.children].map((node) => node.dataset.key);
      return ids[Math.min(Math.max(ids.indexOf(current) + step, 0), ids.length - 1)];
    },
  };
}

const makeRow = ({ id, name }) =>
  el("li", null, el("a", { href: `#/b/${encodeURIComponent(id)}` }, nameOf(name), el("small", { class: "muted" })));

function updateRow(node, one, current) {
  const link = node.firstChild;
  if (one.id === current) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
  say(
    link.lastChild,
    `${count(one.k)} of ${count(one.n_arms)} · ${plural(one.decisions, "decision")}${one.open ? ` · ${count(one.open)} open` : ""}`,
  );
}
