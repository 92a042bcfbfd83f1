/** The state of `go install -v` as a progress line. */
export interface BuildProgress {
  /** Takes one line of Go's output: a module that it downloads, or a package that it begins to compile. Ignores anything else. */
  read(line: string, elapsedMs: number): void;
  /** The progress after this much time, and how much longer it will take at the pace of the current step. */
  line(elapsedMs: number): string;
}

const PACKAGE = /^[\w.~-]+(\/[\w.~+-]+)*$/;

/**
 * Follows a build in its three steps: sources, packages, link. `packages` is how many packages the program has at its pinned version,
 * including the standard library's. Go does not name what it finds in its cache, so the remaining time is an upper bound.
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
      // Go names neither what it has nor that it links it.
      if (compilingFromMs === null && modules === 0) return `using what Go has of it already, ${spent}`;
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
