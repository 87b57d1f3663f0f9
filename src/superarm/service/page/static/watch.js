// Polls the log of a bandit for new events. An open connection would keep the server from shutting
// down, and one request per second is fast enough for people.

/** @import { LogEvent } from "../types" */

import { events } from "./api.js";

const EVERY_MS = 1000;
const LONGEST_MS = 15000;
const HANGS_AFTER_MS = 4000;

/** @typedef {"live" | "paused" | "hanging" | "lost"} Connection */

/**
 * @param {string} id
 * @param {number} after the number of the last event that is already shown
 * @param {{
 *   onevents: (events: LogEvent[]) => Promise<number>,
 *   onstate: (state: Connection, error?: any) => void,
 * }} callbacks `onevents` returns the number of the last event that is then shown
 */
export function watch(id, after, { onevents, onstate }) {
  let wait = EVERY_MS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let isPaused = false;
  let isOver = false;
  let last = after;

  async function look() {
    timer = undefined;
    if (document.hidden) return; // visibilitychange starts again
    // An answer that does not come is no failure yet, but people should know.
    const hanging = setTimeout(() => {
      if (!isOver && !isPaused) onstate("hanging");
    }, HANGS_AFTER_MS);
    try {
      const found = await events(id, last);
      if (isOver || isPaused) return;
      wait = EVERY_MS;
      onstate("live");
      if (found.events.length) await pass(found);
    } catch (error) {
      if (isOver || isPaused) return;
      wait = Math.min(Math.max(wait, EVERY_MS) * 2, LONGEST_MS);
      onstate("lost", error);
    } finally {
      clearTimeout(hanging);
    }
    schedule();
  }

  // If there were more events than one answer holds, the reload has shown them all.
  /** @param {{ events: LogEvent[], more: boolean }} found */
  async function pass({ events, more }) {
    const shown = onevents(events);
    last = events[events.length - 1].seq;
    if (more) last = Math.max(last, await shown);
  }

  function schedule() {
    if (!isOver && !isPaused) timer ??= setTimeout(look, wait);
  }

  const onvisible = () => {
    if (!document.hidden) schedule();
  };
  document.addEventListener("visibilitychange", onvisible);
  onstate("live");
  schedule();

  return {
    toggle() {
      isPaused = !isPaused;
      onstate(isPaused ? "paused" : "live");
      clearTimeout(timer);
      timer = undefined;
      wait = 0;
      schedule();
    },
    stop() {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onvisible);
    },
  };
}
