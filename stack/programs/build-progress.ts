/** What `go install -v` has told so far, as a line for somebody who waits. */
export interface BuildProgress {
  /** One line of what go writes: a module that it downloads, or a package that it has begun to compile. Anything else is passed over. */
  read(line: string, elapsedMs: number): void;
  /** How far it is after so long, and how long it will take from here at the pace of the step it is in. */
  line(elapsedMs: number): string;
}

const PACKAGE = /^[\w.~-]+(\/[\w.~+-]+)*$/;

/**
 * Follows a build in its three steps: sources, packages, link. `packages` is how many the program has at its pinned version, its own
 * and the standard library's; what go finds in its cache it does not name, so the time left is an upper bound.
 */
export function buildProgress(packages: number): BuildProgress {
  let modules = 0;
  let compiled = 0;
  let compilingFromMs: number | null = null;
  return {
    read(line, elapsedMs) {
      if (line.startsWith('go: downloading ')) modules += 1;
      else if (PACKAGE.test(line)) {
        compilingFromMs ??= elapsedMs;
        compiled += 1;
      }
    },
    line(elapsedMs) {
      const spent = `${seconds(elapsedMs)} so far`;
      if (compilingFromMs === null) return `step 1 of 3, fetching sources: ${modules} modules, ${spent}`;
      if (compiled >= packages) return `step 3 of 3, linking: ${spent}, a few seconds left`;
      const pace = (elapsedMs - compilingFromMs) / compiled;
      // The first packages say little about the pace of the rest.
      const left = compiled < 20 ? '' : `, at most ${seconds((packages - compiled) * pace)} left`;
      return `step 2 of 3, compiling: ${compiled} of ${packages} packages, ${spent}${left}`;
    },
  };
}

const seconds = (ms: number): string =>
  ms < 90_000 ? `${Math.round(ms / 1_000)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
