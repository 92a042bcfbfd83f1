import type { Json } from '../../contracts/json.js';

/** Asks an address and returns its status and its text. Rejects where no answer comes; 4xx is an answer. It only reads. */
export type AskUrl = (url: string, timeoutMs: number) => Promise<{ readonly status: number; readonly text: string }>;

/** What came back from a probe: the text, and the value that its signs point into; `null` where the text is none of its form. */
export interface ProbeAnswer {
  readonly text: string;
  readonly value: Json | null;
}

/** Has a call of unknown outcome probed. Safe to repeat: a call is probed by one run. */
export interface Probing {
  begin(correlationId: string): Promise<void>;
}
