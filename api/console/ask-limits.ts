import { SUGGESTIONS_LOOK_MS } from '../../contracts/policy-mining.js';

/** How long somebody waits for a service, milliseconds. */
export interface AskLimits {
  /** Before a page shows the rest. */
  readonly readMs: number;
  /** A report reads many rows. */
  readonly reportMs: number;
  /** The engine compares suggestions with what people decided since, and answers what it could. */
  readonly suggestionsMs: number;
  /** A model writes a sentence, or gives up before. */
  readonly narrateMs: number;
  /** A decision waits for its turn and then for its call; HIL gives up first, and says what it knows. */
  readonly decideMs: number;
  /** An export copies up to a file of rows, and a register walks the whole chain first. */
  readonly exportMs: number;
  /** A change of policies compiles every set that it touches. */
  readonly changeMs: number;
  /** A step of a passkey's ceremony. */
  readonly ceremonyMs: number;
  /** A walk reads the whole chain. */
  readonly walkMs: number;
  /** From the request to the last byte of an archive: the ledger walks the chain, reads the window and signs before the first one. */
  readonly archiveMs: number;
  readonly healthMs: number;
  /** An open stream says something every 15 s, be it that nothing came. */
  readonly quietMs: number;
  /** How long what a stream has to say may wait for whoever reads it. */
  readonly drainMs: number;
}
export const ASK_LIMITS: AskLimits = {
  readMs: 5_000,
  reportMs: 20_000,
  suggestionsMs: SUGGESTIONS_LOOK_MS + 5_000,
  narrateMs: 8_000,
  decideMs: 45_000,
  exportMs: 120_000,
  changeMs: 60_000,
  ceremonyMs: 10_000,
  walkMs: 600_000,
  archiveMs: 900_000,
  healthMs: 1_500,
  quietMs: 60_000,
  drainMs: 30_000,
};
