import { words } from '../text.js';
import { inFolder, type Paths } from './paths.js';

export const ENTERS = words('cd pushd chdir set-location sl');
/** Without a word these go home. */
const GOES_HOME = words('cd chdir');
const HOME = /^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/;
/** Folders of each kind that are followed. */
export const MOST_FOLDERS = 8;
const MOST = MOST_FOLDERS;
export const LONGEST_FOLDER = 256;

/** By which words programs make another name of a folder. */
const LINKS: Readonly<Record<string, RegExp>> = Object.assign(Object.create(null), {
  ln: /./,
  cp: /^(?:-[a-zA-Z]{0,8}s|--symbolic-link$)/,
  mount: /^(?:--r?bind|bind)$/,
});

/** An argument as it is read from some folder. */
export type View = (path: string) => string;

/**
 * The folders that a text enters in which a file is vital or holds secrets by its name alone: `cd /etc; cat shadow`. It is not known which
 * of them a shell is in, because a group has a folder of its own, so later commands are read in each of them. Links to such folders that the
 * text makes are names of them.
 */
export class Folders {
  #isLost = false;
  readonly #entered = new Set<string>();
  readonly #links = new Map<string, string>();
  /** From where to where, which leads nowhere else the second time. */
  readonly #followed = new Set<string>();
  #searched: readonly string[] = [];
  /** What the text says where home is. */
  readonly #homes = new Set<string>();

  constructor(private readonly paths: Paths) {}

  /** The text entered more folders than are followed. */
  get isLost(): boolean {
    return this.#isLost;
  }

  enter(program: string, args: readonly string[]): void {
    const target = ENTERS.has(program)
      ? (args.find((arg) => !/^[-/+]?$|^-[a-zA-Z]|^--$/.test(arg) || arg === '/') ??
        (GOES_HOME.has(program) && !args.includes('-') ? '~' : undefined))
      : undefined;
    if (target === undefined) return;
    const before = ['', ...this.#searched, ...this.#entered];
    const homes = [...this.#homes].map((home) => atHome(home, target));
    for (const one of new Set([target, this.#linked(target), ...homes]))
      for (const from of before) this.#follow(from, one);
  }

  /** `HOME=/etc`: where `cd` and `~` lead; `OLDPWD=/etc`: where `cd -` and `~-` do. */
  settle(word: string): void {
    const place = /^(?:OLD)?PWD=/.exec(word)?.[0];
    if (place !== undefined) this.#follow('', word.slice(place.length));
    if (!word.startsWith('HOME=')) return;
    const home = word.slice('HOME='.length);
    if (this.#homes.has(home) || !this.paths.isVitalFolder(home)) return;
    if (this.#homes.size < MOST && home.length <= LONGEST_FOLDER) this.#homes.add(home);
    else this.#isLost = true;
  }

  /** `CDPATH=/`: where a shell looks for the folder that it is to enter. */
  search(word: string): void {
    if (!word.startsWith('CDPATH=')) return;
    const places = word.slice('CDPATH='.length).split(':', MOST + 1);
    this.#searched = [...new Set([...this.#searched, ...places])].filter((place) => place !== '');
    if (this.#searched.length <= MOST && places.length <= MOST) return;
    this.#isLost = true;
    this.#searched = [];
  }

  /** `ln -s /etc e`, `cp -s /etc e`, `mount --bind /etc e` */
  link(program: string, args: readonly string[]): void {
    const option = LINKS[program];
    if (option === undefined || !args.some((arg) => option.test(arg))) return;
    const [target, name] = args.filter((arg) => !/^-./.test(arg));
    if (target === undefined || !this.paths.isVitalFolder(target)) return;
    const isInPlace = name === undefined || name === '.' || name === './';
    const parts = (isInPlace ? target : name).split('/').filter((part) => part !== '' && part !== '.');
    const link = isInPlace ? (parts.at(-1) ?? '') : `${name.startsWith('/') ? '/' : ''}${parts.join('/')}`;
    if (this.#links.size < MOST && target.length <= LONGEST_FOLDER) this.#links.set(link, target);
    else this.#isLost = true;
  }

  /** How a path may be read, besides as it is written; `others` are folders that the command itself is in. */
  views(others: readonly string[] = []): readonly View[] {
    const folders = [...this.#entered, ...others].map(
      (folder): View =>
        (path) =>
          inFolder(folder, path),
    );
    for (const home of this.#homes) folders.push((path) => atHome(home, path));
    return this.#links.size === 0 ? folders : [...folders, (path) => this.#linked(path)];
  }

  /** These and others. */
  with(others: readonly string[]): readonly string[] {
    return others.length === 0 ? [...this.#entered] : [...this.#entered, ...others];
  }

  #follow(from: string, target: string): void {
    const way = `${from}\n${target}`;
    if (this.#isLost || this.#followed.has(way)) return;
    this.#followed.add(way);
    const folders = this.paths.spelledOut(from === '' ? target : inFolder(from, target));
    if (folders === null) this.#isLost = true;
    for (const folder of folders ?? []) {
      if (!this.paths.isVitalFolder(folder) || this.#entered.has(folder)) continue;
      if (this.#entered.size < MOST && folder.length <= LONGEST_FOLDER) this.#entered.add(folder);
      else this.#isLost = true;
    }
  }

  #linked(path: string): string {
    const own = path.replace(/^\.\//, '');
    for (const [name, target] of this.#links)
      if (own === name || own.startsWith(`${name}/`)) return target + own.slice(name.length);
    return path;
  }
}

const atHome = (home: string, path: string): string => path.replace(HOME, () => home);
