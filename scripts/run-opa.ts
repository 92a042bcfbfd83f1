import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { OPA_MEMORY } from '../adapters/policy/opa-compiler.js';
import { errorText } from '../domain/errors.js';

const run = promisify(execFile);
/** Tests of all templates take half a minute of CPU. */
export const OPA_LIMIT_MS = 600_000;

export interface BuildOptions {
  readonly directory: string;
  /** The path of the OPA compiler. */
  readonly opa: string;
  /** Told at each step that takes a while. */
  readonly onProgress?: (line: string) => void;
}

/** Runs OPA in a policy folder. Throws with what it said. */
export async function opaRun(opa: string, directory: string, args: readonly string[]): Promise<void> {
  try {
    await run(opa, [...args], {
      cwd: directory,
      env: { ...OPA_MEMORY, ...process.env },
      timeout: OPA_LIMIT_MS,
      maxBuffer: 16_777_216,
    });
  } catch (error) {
    const { stdout, stderr, killed } = error as { stdout?: string; stderr?: string; killed?: boolean };
    const late = killed === true ? `not done within ${OPA_LIMIT_MS / 1000} s ` : '';
    const said = `${late}${stdout ?? ''}${stderr ?? ''}`.trim();
    throw new Error(`opa ${args[0]}: ${said || errorText(error)}`, { cause: error });
  }
}
