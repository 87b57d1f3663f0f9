// What the page shows when no bandit is selected, and when the server requires a key.

import { Button } from "./controls.js";
import { html } from "./html.js";
import { ProblemBox } from "./panels.js";

const STEPS = [
  ["Make a bandit", "Give the names of its arms, and how many arms it picks per decision: k of m."],
  [
    "Decide",
    "The bandit picks the k arms that look best, and sometimes arms it knows little about.",
  ],
  [
    "Tell",
    "Give the outcome of each picked arm, from 0 to 1, now or later. The bandit learns from it.",
  ],
];

/** @param {{ oncreate: () => void }} props */
export const Welcome = ({ oncreate }) =>
  html`<article class="welcome">
    <h1 tabindex="-1">Pick the best k of m, and watch it learn</h1>
    <ol class="steps" role="list">
      ${STEPS.map(
        ([name, words]) =>
          html`<li>
            <strong>${name}</strong>
            <p>${words}</p>
          </li>`,
      )}
    </ol>
    <p>
      <${Button} class="primary" onclick=${oncreate}>New bandit<//>
    </p>
    <p class="muted">
      Programs do the same over HTTP with <code>POST /v1/bandits</code>,${" "}
      <code>/decisions</code> and <code>/outcomes</code>. What they do appears here
      at once. The API is described at <a href="openapi.json">/openapi.json</a>.
    </p>
  </article>`;

/** @param {{ error: Error, onenter: () => void }} props */
export const Locked = ({ error, onenter }) =>
  html`<article class="welcome">
    <h1>This server requires a key</h1>
    <${ProblemBox} error=${error} />
    <p>
      <${Button} class="primary" onclick=${onenter}>Enter a key<//>
    </p>
  </article>`;
