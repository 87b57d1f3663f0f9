// The data of the HTTP API, and what components share. Only the type checker reads this file.

export interface ArmFigures {
  mean?: number | null;
  low?: number | null;
  high?: number | null;
  value?: number | null;
}

export interface ArmState extends ArmFigures {
  arm: string;
  retired: boolean;
}

export interface Bandit {
  id: string;
  name: string;
  n_arms: number;
  k: number;
  created: number;
  rounds: number;
  decisions: number;
  evaluations: number;
  open: number;
  told: number;
  expired: number;
  // These are missing in a list of bandits.
  spec: {
    reward: { name: string; weights?: unknown };
    oracle: { kind: string };
    belief: { kind: string; context?: number; discount?: number };
    expiry?: unknown;
    holdout?: unknown;
    features?: number;
  };
  retired: string[];
  events: number;
  merged: number;
  posterior: ArmState[];
}

export interface Verdict {
  arms: string[];
  done: boolean;
  delta: number;
  error: number;
  closest: string[];
  probability: number | null;
  loss: number | null;
  n_awaited: number;
}

export interface Lift {
  lift: number;
  low: number;
  high: number;
  delta: number;
  policy: number | null;
  holdout: number | null;
  n_policy: number;
  n_holdout: number;
}

export interface Decision {
  id: string;
  arms: string[];
  certified: boolean;
  round: number;
  time: number;
  status: "open" | "told" | "expired";
  outcomes?: Record<string, number>;
  // Missing for decisions from before arms were ranked.
  ranked?: boolean;
  // Missing for decisions that the policy made.
  holdout?: boolean;
}

export interface Reason extends ArmFigures {
  arm: string;
  score?: number | null;
  lower?: number | null;
  upper?: number | null;
  n_tests?: number | null;
  // The mean is base + the sum of columns + own, for beliefs with features or contexts.
  base?: number | null;
  columns?: number[] | null;
  own?: number | null;
}

export interface Explanation {
  decision?: Decision;
  certified?: boolean;
  round?: number;
  time?: number;
  score_is?: string | null;
  complete?: boolean;
  reasons: Reason[];
  best_left_out?: Reason | null;
  lost_by?: number | null;
  prior?: string | null;
  text?: string;
}

export interface HistoryPoint {
  round: number;
  time: number;
  estimate: number | null;
  evaluations: number | null;
  told: number;
}

export interface History {
  points: HistoryPoint[];
  estimate_is: string;
}

export interface LogEvent {
  seq: number;
  kind: string;
}

export interface Parameter {
  name: string;
  kind: "int" | "float" | "bool" | "choice" | "pair" | "oracle" | "vector" | "matrix";
  sentence: string;
  required: boolean;
  default: unknown;
  least: number | null;
  most: number | null;
  choices: string[];
}

export interface Part {
  name: string;
  label: string;
  sentence: string;
  parameters: Parameter[];
}

export interface Parts {
  beliefs: Part[];
  oracles: Part[];
  rewards: Part[];
}

/** RFC 9457, with members of our own. */
export interface ProblemBody {
  title?: string;
  detail?: string;
  expected?: unknown;
  got?: unknown;
  fix?: string;
  errors?: { at?: string; detail?: string }[];
}

export interface Note {
  serial: number;
  content: string | Error;
  action?: { label: string; run: () => void };
  isAway?: boolean; // the server could not be reached when the page asked by itself
}

export interface PageActions {
  open: (title: string, content: unknown) => void;
  note: (content: string | Error, action?: Note["action"]) => void;
  announce: (words: string) => void;
  onproblem: (error: Error) => void;
  onanswer: () => void;
}
