// The HTTP API of the server. Paths are relative, so that the page works behind a prefix.

/** @import { Bandit, Decision, Explanation, History, LogEvent } from "../types" */
/** @import { Lift, Parts, ProblemBody, Verdict } from "../types" */

const KEY_ITEM = "superarm-key";

/** An answer that is an error, in the form of RFC 9457, or no answer at all (status 0). */
export class Problem extends Error {
  /**
   * @param {ProblemBody} body
   * @param {number} status
   */
  constructor(body, status = 0) {
    super(body.title ?? `The server answered ${status}`);
    this.body = body;
    this.status = status;
  }
}

// The key stays in this tab (sessionStorage) and is gone when the tab is closed.
export const key = {
  get: () => sessionStorage.getItem(KEY_ITEM) ?? "",
  /** @param {string} value */
  set(value) {
    if (value) sessionStorage.setItem(KEY_ITEM, value);
    else sessionStorage.removeItem(KEY_ITEM);
  },
};

/**
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, headers?: Record<string, string>, isWatched?: boolean }} options
 */
async function send(method, path, { body, headers = {}, isWatched = method === "GET" } = {}) {
  /** @type {Record<string, string>} */
  const all = { Accept: "application/json", ...headers };
  if (body !== undefined) all["Content-Type"] = "application/json";
  if (key.get()) all.Authorization = `Bearer ${key.get()}`;
  const text = body === undefined ? undefined : JSON.stringify(body);
  /** @type {RequestInit} */
  const options = {
    method,
    headers: all,
    body: text,
    credentials: "omit",
    cache: "no-store",
  };
  const response = await fetch(path, options).catch(() => {
    throw new Problem({
      title: "The server cannot be reached",
      // What a person asked for is not sent again without that person.
      fix: isWatched
        ? "Check that superarm serve is running. This page tries again by itself."
        : "Check that superarm serve is running, then do it again.",
    });
  });
  if (!response.ok) throw new Problem(await problemOf(response), response.status);
  return response;
}

/** @param {Response} response */
async function problemOf(response) {
  const body = await response.json().catch(() => null);
  const problem = body && typeof body === "object" ? body : {};
  const wait = response.headers.get("Retry-After");
  return wait && !problem.fix ? { ...problem, fix: `Try again in ${wait} s.` } : problem;
}

/** @param {string} name */
function segment(name) {
  // Browsers take these for folders, escaped or not, so that the request would be another one.
  if (name === "." || name === "..")
    throw new Problem({
      title: "This name cannot be part of an address in a browser",
      fix: "Use the Python client, such as client.retire(bandit, name).",
    });
  try {
    return encodeURIComponent(name);
  } catch {
    // A lone surrogate cannot be encoded.
    throw new Problem({
      title: "This name cannot be part of an address",
      detail: `Got ${name}`,
    });
  }
}

/** @param {Record<string, string | number | null | undefined>} given */
function search(given) {
  const kept = Object.entries(given)
    .filter(([, value]) => value !== "" && value !== null && value !== undefined)
    .map(([name, value]) => [name, String(value)]);
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}

/** @type {(...given: Parameters<typeof send>) => Promise<any>} */
const json = async (...given) => (await send(...given)).json();

/** @param {string} id */
const banditPath = (id) => `v1/bandits/${segment(id)}`;

/** @param {string} id */
const decisionPath = (id) => `v1/decisions/${segment(id)}`;

// The server carries out each key once, even if a request is sent again.
// crypto.randomUUID would be shorter, but is missing on pages that are not served over HTTPS.
const idempotent = () => ({
  "Idempotency-Key": Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16),
  ).join("-"),
});

/** @type {(query: string, after?: string | null) => Promise<{ bandits: Bandit[], next: string | null }>} */
export const bandits = (query, after) =>
  json("GET", `v1/bandits${search({ limit: 100, query, after })}`);

/** @type {(bandit: Bandit) => Promise<unknown>} */
export const deleteBandit = ({ id, name }) => send("DELETE", banditPath(id) + search({ name }));

/** @type {(id: string, top: number, query: string) => Promise<Bandit>} */
export const bandit = (id, top, query) => json("GET", banditPath(id) + search({ top, query }));

/** @type {() => Promise<Parts>} */
export const parts = () => json("GET", "v1/parts", { isWatched: false });

/** @type {(body: object) => Promise<Bandit>} */
export const create = (body) => json("POST", "v1/bandits", { body, headers: idempotent() });

/** @type {(id: string, body: object) => Promise<Decision & { decisions?: Decision[] }>} */
export const decide = (id, body) =>
  json("POST", `${banditPath(id)}/decisions`, { body, headers: idempotent() });

/** @type {(id: string, status: string, limit: number) => Promise<{ decisions: Decision[], next: string | null }>} */
export const decisions = (id, status, limit) =>
  json("GET", `${banditPath(id)}/decisions${search({ status, limit })}`);

/** @type {(id: string) => Promise<Explanation>} */
export const explanation = (id) =>
  json("GET", `${decisionPath(id)}/explanation`, { isWatched: false });

/** @type {(id: string, outcomes: Record<string, unknown>) => Promise<unknown>} */
export const tell = (id, outcomes) =>
  json("POST", `${decisionPath(id)}/outcomes`, { body: { outcomes } });

/** @type {(id: string, arms: string[], features?: number[][]) => Promise<unknown>} */
export const addArms = (id, arms, features) =>
  json("POST", `${banditPath(id)}/arms`, { body: { arms, features } });

/** @type {(id: string, arm: string) => Promise<unknown>} */
export const retire = (id, arm) => json("DELETE", `${banditPath(id)}/arms/${segment(arm)}`);

/** @type {(id: string) => Promise<Verdict>} */
export const verdict = (id) => json("GET", `${banditPath(id)}/verdict`);

/** @type {(id: string) => Promise<Lift>} */
export const lift = (id) => json("GET", `${banditPath(id)}/lift`);

/** @type {(id: string, points: number) => Promise<History>} */
export const history = (id, points) =>
  json("GET", `${banditPath(id)}/history${search({ points })}`);

/**
 * Events with numbers above `after`. Stops soon after `most` events, and says so in `more`.
 * @param {string} id
 * @param {number} after
 * @returns {Promise<{ events: LogEvent[], more: boolean }>}
 */
export async function events(id, after, most = 200) {
  const headers = { Accept: "application/x-ndjson" };
  const response = await send("GET", `${banditPath(id)}/log${search({ after })}`, { headers });
  if (response.body === null) return { events: [], more: false };
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  /** @type {LogEvent[]} */
  const found = [];
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const complete = (rest + (value ?? "")).split("\n");
    rest = done ? "" : (complete.pop() ?? "");
    found.push(...complete.filter((line) => line !== "").map((line) => JSON.parse(line)));
    if (done) return { events: found, more: false };
    if (found.length >= most) {
      await reader.cancel();
      return { events: found, more: true };
    }
  }
}
