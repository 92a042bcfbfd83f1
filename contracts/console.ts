/** A command line that asks to act for whoever types its code. */
export interface AskingDevice {
  /** As the command line shows it, however it was typed. */
  readonly code: string;
  readonly askedMs: number;
  readonly untilMs: number;
  /** The address it asks from. */
  readonly askedFrom: string;
}

/** A search of the audit page, as its address says it. */
export interface SavedSearch {
  readonly name: string;
  readonly query: Readonly<Record<string, string>>;
}
