// The page as a whole: the bar at the top, the list of bandits, and what the address shows.

/** @import { Bandit } from "../types" */

import { key } from "./api.js";
import { BanditView } from "./bandit.js";
import { Bandits } from "./bandits.js";
import { Button } from "./controls.js";
import { CreateForm } from "./create.js";
import { ExplanationPanel } from "./explain.js";
import { KeyForm } from "./forms.js";
import { html, render, useEffect, useRef, useState } from "./html.js";
import { useOverlays } from "./overlays.js";
import { PageProvider } from "./panels.js";
import { banditAddress, currentRoute, explanationAddress, useRoute } from "./route.js";
import { ShortcutList, useShortcuts } from "./shortcuts.js";
import { useTheme } from "./theme.js";
import { Locked, Welcome } from "./welcome.js";

const ICON = new URL("icon.svg", import.meta.url).href;

function App() {
  const { route, hasNavigated, update } = useRoute();
  const { overlays, actions, locked, unlock } = useOverlays();
  const [theme, toggleTheme] = useTheme();
  const [version, setVersion] = useState(0); // a new number loads the list of bandits again
  const main = useRef(/** @type {HTMLElement | null} */ (null));

  /** @param {Bandit} made */
  const created = (made) => {
    actions.note(`Created ${made.name}.`);
    setVersion((n) => n + 1);
    location.hash = banditAddress(made.id);
  };
  const deleted = () => {
    setVersion((n) => n + 1);
    location.hash = "#/";
  };
  const keyChanged = () => {
    unlock();
    setVersion((n) => n + 1);
  };
  const openCreate = () => actions.open("New bandit", html`<${CreateForm} done=${created} />`);
  const openHelp = () => actions.open("Shortcuts", html`<${ShortcutList} />`);
  /** @param {Error | null} error */
  const openKey = (error) =>
    actions.open("Key of this server", html`<${KeyForm} error=${error} done=${keyChanged} />`);
  useShortcuts({ "?": openHelp, n: openCreate, l: toggleTheme });

  useEffect(() => {
    if (locked) openKey(key.get() ? locked : null);
  }, [locked]);
  useEffect(() => {
    if (route.id) return;
    document.title = "superarm";
    if (!hasNavigated) return;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0); // on a phone the list of bandits is above the main part
  }, [route.id]);

  const { id, decision } = route;
  const closeExplanation = () => {
    if (id === null || currentRoute().decision !== decision) return;
    history.replaceState(null, "", banditAddress(id));
    update();
  };
  /** @param {string} id */
  const bandit = (id) =>
    html`<${BanditView}
      key=${id}
      id=${id}
      takesFocus=${hasNavigated}
      ondelete=${deleted}
      explain=${(/** @type {string} */ decision) => {
        location.hash = explanationAddress(id, decision);
      }} />`;
  const content = id ? bandit(id) : html`<${Welcome} oncreate=${openCreate} />`;

  return html`<${PageProvider} value=${actions}>
    <${TopBar} main=${main} theme=${theme} onkey=${() => openKey(null)} ontheme=${toggleTheme}
      onhelp=${openHelp} />
    <div class="body" data-view=${id ? "bandit" : "list"}>
      <div id="side">
        ${!locked && html`<${Bandits} current=${id} version=${version} oncreate=${openCreate} />`}
      </div>
      <main id="main" tabindex="-1" ref=${main}>
        ${locked ? html`<${Locked} error=${locked} onenter=${() => openKey(null)} />` : content}
      </main>
    </div>
    ${
      decision &&
      !locked &&
      html`<${ExplanationPanel} key=${decision} id=${decision} onclose=${closeExplanation} />`
    }
    ${overlays}
  <//>`;
}

/**
 * @param {{
 *   main: { current: HTMLElement | null },
 *   theme: string,
 *   onkey: () => void,
 *   ontheme: () => void,
 *   onhelp: () => void,
 * }} props
 */
function TopBar({ main, theme, onkey, ontheme, onhelp }) {
  /** @param {MouseEvent} event */
  const skip = (event) => {
    event.preventDefault(); // the address after # is a route
    main.current?.focus();
  };
  const other = theme === "dark" ? "light" : "dark";
  return html`<a class="skip" href="#main" onclick=${skip}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="#/"><img src=${ICON} alt="" width="26" height="26" /> superarm</a>
      <span class="space"></span>
      <${Button} class="quiet" onclick=${onkey}>Key<//>
      <${Button} class="quiet icon" aria-label=${`Switch to ${other} colours`} onclick=${ontheme}>
        <span aria-hidden="true">◐</span>
      <//>
      <${Button} class="quiet icon" aria-label="Shortcuts" onclick=${onhelp}>
        <span aria-hidden="true">?</span>
      <//>
    </header>`;
}

render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("page")));
