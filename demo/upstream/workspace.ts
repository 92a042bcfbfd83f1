import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

/**
 * A folder that the file tools may touch, and nothing outside it. Every method checks its path at once, throwing one sentence on one it
 * does not take, and gives back the act itself, so that the act can be written down before it is done.
 */
export interface Workspace {
  /** Paths of all files, sorted, relative to the workspace. */
  list(folder?: string): () => string[];
  read(path: string): () => string;
  write(path: string, content: string): () => void;
  remove(path: string): () => void;
}

const FIRST_FILES: Readonly<Record<string, string>> = {
  'README.txt': 'This is the workspace of the demonstration tools.\n',
  'notes/todo.txt': 'send the invoice\ncall the vendor\n',
};

/** Opens the workspace in `root`; the first time it gets two files to look at. */
export function openWorkspace(root: string): Workspace {
  if (!statSync(root, { throwIfNoEntry: false })) {
    for (const [path, content] of Object.entries(FIRST_FILES)) put(join(root, path), content);
  }
  const real = realpathSync(root);

  /** Where `path` really is: inside, with no link on the way that leads out. */
  function inside(path: string): string {
    const target = resolve(real, path);
    if (path.includes('\0') || !within(target)) throw new Error(`${JSON.stringify(path)} is outside the workspace`);
    for (let at = target; at !== real; at = dirname(at)) {
      if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink())
        throw new Error(`${JSON.stringify(path)} leads through a link, which the workspace does not follow`);
    }
    return target;
  }
  const within = (target: string): boolean => target === real || target.startsWith(real + sep);
  function file(path: string): string {
    const target = inside(path);
    if (!statSync(target, { throwIfNoEntry: false })?.isFile())
      throw new Error(`there is no file ${JSON.stringify(path)}`);
    return target;
  }

  return {
    list(folder = '.') {
      const target = inside(folder);
      if (!statSync(target, { throwIfNoEntry: false })?.isDirectory())
        throw new Error(`there is no folder ${JSON.stringify(folder)}`);
      return () =>
        readdirSync(target, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => relative(real, join(entry.parentPath, entry.name)).split(sep).join('/'))
          .sort();
    },
    read(path) {
      const target = file(path);
      return () => readFileSync(target, 'utf8');
    },
    write(path, content) {
      const target = inside(path);
      if (target === real || statSync(target, { throwIfNoEntry: false })?.isDirectory())
        throw new Error(`${JSON.stringify(path)} is a folder`);
      return () => put(target, content);
    },
    remove(path) {
      const target = file(path);
      return () => rmSync(target);
    },
  };
}

function put(target: string, content: string): void {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
}
