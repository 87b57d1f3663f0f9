// Asks the log of a bandit, again and again, for what came after the last event. A connection that were held open would
// keep the server from shutting down, and one answer a second is soon enough for people.

import { events } from "./api.js";

const EVERY_MS = 1000;
const LONGEST_MS = 15000;

// `onevents` gets what is new, and promises the number of the last event that is shown.
export function watch(id, after, { onevents, onstate }) {
  let wait = EVERY_MS;
  let timer = null;
  let isPaused = false;
  let isOver = false;
  let last = after;

  async function look() {
    timer = null;
    if (document.hidden) return; // comes back with visibilitychange
    try {
      const found = await events(id, last);
      if (isOver || isPaused) return;
      wait = EVERY_MS;
      onstate("live");
      if (found.events.length) await pass(found);
    } catch {
      if (isOver || isPaused) return;
      wait = Math.min(Math.max(wait, EVERY_MS) * 2, LONGEST_MS);
      onstate("lost");
    }
    later();
  }

  // Who is far behind goes on from the state that is shown by now.
  async function pass({ events, more }) {
    const shown = onevents(events);
    last = events.at(-1).seq;
    if (more) last = Math.max(last, await shown);
  }

  function later() {
    if (!isOver && !isPaused && timer === null) timer = setTimeout(look, wait);
  }

  const seen = () => {
    if (!document.hidden && timer === null) later();
  };
  document.addEventListener("visibilitychange", seen);
  onstate("live");
  later();

  return {
    toggle() {
      isPaused = !isPaused;
      onstate(isPaused ? "paused" : "live");
      clearTimeout(timer);
      timer = null;
      wait = 0;
      later();
    },
    stop() {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}
