// Preact with htm. A component is a function that returns html`...`.
// Preact inserts every text as text and never as markup, so names of arms can contain anything.

import htm from "./vendor/htm.js";
import { h } from "./vendor/preact.js";

export const html = htm.bind(h);

export { createContext, render } from "./vendor/preact.js";
export {
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "./vendor/preact-hooks.js";
