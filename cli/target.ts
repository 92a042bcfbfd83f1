import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DevelopmentFile } from '../stack/development.js';

/** What a command could not do, in one line, with the exit code that says which kind of failure it was. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly exitCode: number = 1,
  ) {
    super(message);
  }
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The running stack of this folder, as its `dev.json` describes it. */
export function developmentFile(): DevelopmentFile {
  const file = join(resolve(process.env.GATE_STATE_DIR ?? '.gate'), 'dev.json');
  if (!existsSync(file))
    throw new CliError(`no running stack is known here (${file} is missing); start one with \`npm start\``);
  return JSON.parse(readFileSync(file, 'utf8')) as DevelopmentFile;
}
