// Keeps the keyboard focus in a list whose rows move, change or disappear.

import { useLayoutEffect } from "./html.js";

/** @param {Element | null} element */
const isUsable = (element) =>
  element instanceof HTMLElement && element.isConnected && !element.hidden;

/**
 * Call it while a list is drawn. If the focused element loses the focus by the drawing, the focus
 * goes to another button of the same row, to the list, or to the main part of the page.
 * @param {{ current: HTMLElement | null }} list
 */
export function useKeptFocus(list) {
  const focused = document.activeElement;
  const isInside = list.current?.contains(focused) ?? false;
  const row = focused?.closest("li") ?? null;
  useLayoutEffect(() => {
    if (!isInside || (document.activeElement === focused && isUsable(focused))) return;
    const button = row?.isConnected ? row.querySelector("button:not([hidden])") : null;
    const candidates = [focused, button, list.current?.closest("[tabindex]") ?? null];
    const next = candidates.find(isUsable) ?? document.getElementById("main");
    /** @type {HTMLElement | null} */ (next)?.focus({ preventScroll: true });
  });
}
