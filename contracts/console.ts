/** The cookie of a session, or how its name begins where the host has several consoles. */
export const SESSION_COOKIE = 'gate_console_session';
/** How long a browser stays signed in after its last request, where no setting says otherwise. */
export const SESSION_SECONDS = 28_800;

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
