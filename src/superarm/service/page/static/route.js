// The address of the page: #/b/BANDIT shows a bandit, #/b/BANDIT/d/DECISION explains a decision.

import { useLayoutEffect, useRef, useState } from "./html.js";

/** @typedef {{ id: string | null, decision: string | null }} Route */

const PATTERN = /^#\/b\/([^/]+)(?:\/d\/([^/]+))?$/;

/** @param {string} id */
export const banditAddress = (id) => `#/b/${encodeURIComponent(id)}`;

/** @type {(id: string, decision: string) => string} */
export const explanationAddress = (id, decision) =>
  `${banditAddress(id)}/d/${encodeURIComponent(decision)}`;

/** @returns {Route} */
export function currentRoute() {
  const [, id, decision] = PATTERN.exec(location.hash) ?? [];
  try {
    return {
      id: id ? decodeURIComponent(id) : null,
      decision: decision ? decodeURIComponent(decision) : null,
    };
  } catch {
    return { id: null, decision: null }; // not a valid encoding
  }
}

/** The route, whether a person has navigated to it, and a function that reads it again. */
export function useRoute() {
  const [route, setRoute] = useState(currentRoute);
  const hasNavigated = useRef(false);
  const update = () => setRoute(currentRoute());
  // At once: a change between the first drawing and an effect after it would be lost.
  useLayoutEffect(() => {
    const onhashchange = () => {
      hasNavigated.current = true;
      update();
    };
    addEventListener("hashchange", onhashchange);
    return () => removeEventListener("hashchange", onhashchange);
  }, []);
  return { route, hasNavigated: hasNavigated.current, update };
}
