// Elements. Every text goes in as text, never as markup, so that a name can be anything.

const SVG = "http://www.w3.org/2000/svg";

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// A name from outside: set apart from the direction of the text around it, whole in the tooltip.
export const nameOf = (name, attributes) =>
  el("bdi", { class: "name", title: shown(name), ...attributes }, shown(name));

// What is seen of a name: one of blanks alone in quotes, and no marks that turn the text around them.
export const shown = (name) => {
  const text = /[^\p{C}\p{Z}]/u.test(name) ? name : JSON.stringify(name);
  return text.replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
};

// Makes the children of `parent` those of `items`, keeping nodes (and the focus) of items that stay.
export function keyed(parent, items, keyOf, make, update) {
  const focus = parent.contains(document.activeElement) ? document.activeElement : null;
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  const nodes = items.map((item) => {
    const key = String(keyOf(item));
    const node = old.get(key) ?? make(item);
    node.dataset.key = key;
    old.delete(key);
    update?.(node, item);
    return node;
  });
  for (const node of old.values()) node.remove();
  nodes.forEach((node, place) => {
    if (parent.children[place] !== node) parent.insertBefore(node, parent.children[place] ?? null);
  });
  if (focus && document.activeElement !== focus) {
    if (focus.isConnected) focus.focus({ preventScroll: true });
    else (parent.closest("[tabindex]") ?? document.getElementById("main")).focus({ preventScroll: true });
  }
}

// Sets a text only where it differs, so that a reader is not told what has not changed.
export function say(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

export const later = (wait, run) => {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), wait);
  };
};
