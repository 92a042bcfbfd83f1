import { words } from '../text.js';
import { inFolder, isVitalFolder, spelledOut } from './paths.js';

export const ENTERS = words('cd pushd chdir set-location sl');
const MOST = 8;
const LONGEST = 256;

/**
 * The folders that a text enters in which a file is vital or holds secrets by its name alone: `cd /etc; cat shadow`. It is not known which
 * of them a shell is in, because a group has a folder of its own, so later commands are read in each of them.
 */
export class Folders {
  #isLost = false;
  readonly #entered = new Set<string>();

  /** The text entered more folders than are followed. */
  get isLost(): boolean {
    return this.#isLost;
  }

  enter(program: string, args: readonly string[]): void {
    const target = ENTERS.has(program)
      ? args.find((arg) => !/^[-/+]?$|^-[a-zA-Z]|^--$/.test(arg) || arg === '/')
      : undefined;
    if (target === undefined) return;
    for (const from of ['', ...this.#entered])
      for (const folder of spelledOut(from === '' ? target : inFolder(from, target))) {
        if (!isVitalFolder(folder) || this.#entered.has(folder)) continue;
        if (this.#entered.size < MOST && folder.length <= LONGEST) this.#entered.add(folder);
        else this.#isLost = true;
      }
  }

  /** These and others. */
  with(others: readonly string[]): readonly string[] {
    return others.length === 0 ? [...this.#entered] : [...this.#entered, ...others];
  }
}
