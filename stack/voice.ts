import type { Logger } from 'pino';

/** How the stack reports what happens to its parts: one line each, on the terminal and in the log. */
export interface Voice {
  say(line: string): void;
  /** For the log alone. */
  log(line: string): void;
  /** Set once the log is open; earlier lines go only to the terminal. */
  writeTo(logger: Logger): void;
  /** What a part does while it is being stopped is not reported. */
  hush(): void;
}

export function createVoice(terminal: (line: string) => void): Voice {
  let logger: Logger | null = null;
  let hushed = false;
  return {
    say(line) {
      logger?.warn(line);
      if (!hushed) terminal(line);
    },
    log: (line) => logger?.warn(line),
    writeTo(given) {
      logger = given;
    },
    hush() {
      hushed = true;
    },
  };
}
