// Asks the log of a bandit, again and again, for what came after the last event. A connection that were held open would
// keep the server from shutting down, and one answer a second is soon enough for people.

import { events } from "./api.js";

const EVERY_MS = 1000;
const LONGEST_MS = 15000;

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
      if (isOver) return;
      wait = EVERY_MS;
      onstate(isPaused ? "paused" : "live");
      if (found.events.length) last = found.events.at(-1).seq;
      if (found.events.length && !isPaused) onevents(found.events);
      if (found.more) wait = 50; // far behind: catch up
    } catch (error) {
      if (isOver) return;
      wait = Math.min(wait * 2, LONGEST_MS);
      onstate("lost");
    }
    later();
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
