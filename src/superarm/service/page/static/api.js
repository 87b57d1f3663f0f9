// The server's /v1, wherever the page lies: requests with the key of this tab, and problems as errors.

const PLACE = "superarm-key";

export class Problem extends Error {
  constructor(body, status) {
    super(body.title ?? `The server answered ${status}`);
    this.body = body;
    this.status = status;
  }
}

// Only for this tab, and gone with it.
export const key = {
  get: () => sessionStorage.getItem(PLACE) ?? "",
  set: (value) => (value ? sessionStorage.setItem(PLACE, value) : sessionStorage.removeItem(PLACE)),
};

async function send(method, path, { body, headers = {} } = {}) {
  const all = { Accept: "application/json", ...headers };
  if (body !== undefined) all["Content-Type"] = "application/json";
  if (key.get()) all.Authorization = `Bearer ${key.get()}`;
  let response;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    response = await fetch(path, { method, headers: all, body: text, credentials: "omit", cache: "no-store" });
  } catch {
    throw new Problem(
      {
        title: "The server cannot be reached",
        fix: "Look whether superarm serve is still running. This page tries again by itself.",
      },
      0,
    );
  }
  if (!response.ok) throw new Problem(await problem(response), response.status);
  return response;
}

async function problem(response) {
  const body = await response.json().catch(() => null);
  const wait = response.headers.get("Retry-After");
  const said = body && typeof body === "object" ? body : {};
  return wait && !said.fix ? { ...said, fix: `Try again in ${wait} s.` } : said;
}

const part = (name) => {
  try {
    return encodeURIComponent(name);
  } catch {
    throw new Problem({ title: "This name cannot be put into an address", detail: "It has half a character." }, 0);
  }
};

const search = (given) => {
  const kept = Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
};

const json = async (...given) => (await send(...given)).json();
const at = (id) => `v1/bandits/${part(id)}`;

// So that a request that is sent again decides once. (randomUUID is for secure pages only.)
const once = () => ({
  "Idempotency-Key": Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join("-"),
});

export const bandits = (after) => json("GET", `v1/bandits${search({ limit: 100, after })}`);
export const bandit = (id, top, query) => json("GET", at(id) + search({ top, query }));
export const create = (body) => json("POST", "v1/bandits", { body, headers: once() });
export const decide = (id, body) => json("POST", `${at(id)}/decisions`, { body, headers: once() });
export const decisions = (id, status, limit) => json("GET", `${at(id)}/decisions${search({ status, limit })}`);
export const explanation = (id) => json("GET", `v1/decisions/${part(id)}/explanation`);
export const tell = (id, outcomes) => json("POST", `v1/decisions/${part(id)}/outcomes`, { body: { outcomes } });
export const addArms = (id, body) => json("POST", `${at(id)}/arms`, { body });
export const retire = (id, arm) => json("DELETE", `${at(id)}/arms/${part(arm)}`);
export const history = (id, points) => json("GET", `${at(id)}/history${search({ points })}`);

// Events after a number, but not many more than `most`.
export async function events(id, after, most = 200) {
  const response = await send("GET", `${at(id)}/log${search({ after })}`, {
    headers: { Accept: "application/x-ndjson" },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const found = [];
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const whole = (rest + (value ?? "")).split("\n");
    rest = done ? "" : whole.pop();
    found.push(...whole.filter((line) => line !== "").map((line) => JSON.parse(line)));
    if (done) return { events: found, more: false };
    if (found.length >= most) {
      await reader.cancel();
      return { events: found, more: true };
    }
  }
}
