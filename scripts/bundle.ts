import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { THREADS } from './single-file/layout.js';
import { leanEngine } from './workflow-thread.js';

/**
 * The last step of `npm run build`: of a few hundred modules each, the `gate` command with its lazy parts, the threads, and what the console's
 * pages load. A start spends most of its time on finding, reading and compiling modules. Nothing is done where nothing changed.
 */
const COMPILED = dirname(fileURLToPath(new URL('.', import.meta.url)));
const ROOT = join(COMPILED, '..');
/** What the last build was made from and what it made. */
const MADE = join(COMPILED, 'bundles.json');
/** `bin/gate.mjs` starts it where it is not older than the compiled modules. */
const PROGRAM = join(COMPILED, 'program');

/** Modules find their files by where they lie; in the bundle they still say where they lay. */
const keepPlaces = (output: string): Plugin => ({
  name: 'keep-places',
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(COMPILED + sep)) return undefined;
      const place = JSON.stringify(relative(output, path).replaceAll(sep, '/'));
      const text = await readFile(path, 'utf8');
      return { contents: text.replaceAll('import.meta.url', `new URL(${place},import.meta.url).href`) };
    });
  },
});

/** A package that is imported only when it is needed is left where it lies: Node alone knows what one of CommonJS exports. */
const lazyPackages: Plugin = {
  name: 'lazy-packages',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (kind !== 'dynamic-import' || pluginData === lazyPackages.name) return undefined;
      const found = await resolve(path, { kind, resolveDir, pluginData: lazyPackages.name });
      const lies = found.external ? found.path : relative(PROGRAM, found.path).replaceAll(sep, '/');
      return { path: lies, external: true, errors: found.errors };
    });
  },
};

const forNode = (outdir: string) =>
  ({
    outdir,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: "import{createRequire as requireFrom}from'node:module';const require=requireFrom(import.meta.url);" },
    plugins: [keepPlaces(outdir)],
  }) satisfies BuildOptions;
/** Native code and WebAssembly, which look for themselves where their packages lie. */
const WHERE_THEY_LIE = ['@photostructure/sqlite', 'koffi', 'libpg-query', 'pg-native'];

const program: BuildOptions = {
  ...forNode(PROGRAM),
  entryPoints: [join(COMPILED, 'cli', 'main.js')],
  // What a command imports only when it needs it stays a file of its own.
  splitting: true,
  // Errors and a store's kind are told by the names of their classes, which two modules may share.
  keepNames: true,
  plugins: [keepPlaces(PROGRAM), lazyPackages],
  // The engine's packages load files of theirs by path, into threads and into the workflows' bundle.
  external: [...WHERE_THEY_LIE, '@temporalio/*', '@grpc/*'],
};

const threadsFolder = join(COMPILED, 'threads');
/** Only the full edition walks its ledger in threads, compiles policies, and studies what rules say of recorded calls. */
const threads: BuildOptions = {
  ...forNode(threadsFolder),
  entryPoints: [
    ...THREADS,
    'adapters/ledger/walk-thread.js',
    'adapters/policy/study-thread.js',
    'adapters/policy/syntax-tree-thread.js',
    'adapters/signing/pkcs11-process.js',
  ].map((entry) => ({
    in: join(COMPILED, entry),
    out: basename(entry, '.js'),
  })),
  external: WHERE_THEY_LIE,
};

const workflowThread: BuildOptions = {
  ...forNode(threadsFolder),
  entryPoints: [join(COMPILED, 'workers', 'workflow-thread.js')],
  plugins: [keepPlaces(threadsFolder), leanEngine(threadsFolder)],
  // Only in the text of an error.
  define: { __filename: '"workflow-worker-thread"' },
};

/** One script and one style, from sources that know a browser, and of the rest what has no I/O. */
const BROWSER = join(ROOT, 'console', 'browser');
const pages: BuildOptions = {
  entryPoints: [join(BROWSER, 'console.ts'), join(BROWSER, 'console.css')],
  outdir: join(COMPILED, 'console', 'static'),
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
};

interface Made {
  /** Size and time of each file that was read. */
  readonly from: Readonly<Record<string, string>>;
  readonly files: readonly string[];
}

/** A file that was written while it may have been read is read again next time. */
async function stateOf(file: string, before = Number.POSITIVE_INFINITY): Promise<string> {
  const { size, mtimeMs } = await stat(join(ROOT, file));
  return mtimeMs < before ? `${size} bytes, ${mtimeMs}` : 'unknown';
}

/** What was made last, and whether that is what would be made now. */
async function lastMade(): Promise<Made & { readonly current: boolean }> {
  try {
    const made = JSON.parse(await readFile(MADE, 'utf8')) as Made;
    const current = await Promise.all([
      ...Object.entries(made.from).map(async ([file, state]) => state === (await stateOf(file))),
      ...made.files.map(async (file) => (await stat(join(ROOT, file))).isFile()),
    ]).catch(() => [false]);
    return { ...made, current: current.every(Boolean) };
  } catch {
    return { from: {}, files: [], current: false };
  }
}

const last = await lastMade();
if (!last.current) {
  const begun = Date.now();
  await rm(MADE, { force: true });
  const built = await Promise.all(
    [program, threads, workflowThread, pages].map((options) =>
      build({ ...options, absWorkingDir: ROOT, metafile: true, logLevel: 'warning' }),
    ),
  );
  const read = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const from = [...new Set([...read, 'dist/scripts/bundle.js', 'node_modules/esbuild/package.json'])];
  const files = built.flatMap(({ metafile }) => Object.keys(metafile.outputs));
  // A Gate that still runs may yet import parts of the last build; those of earlier ones go.
  const kept = new Set([...files, ...last.files]);
  for (const name of await readdir(PROGRAM))
    if (!kept.has(relative(ROOT, join(PROGRAM, name)))) await rm(join(PROGRAM, name));
  const states = await Promise.all(from.map(async (file) => [file, await stateOf(file, begun)] as const));
  await writeFile(MADE, JSON.stringify({ from: Object.fromEntries(states), files } satisfies Made));
}
// Said to be as new as what the compiler wrote last, even where that changed nothing here.
const now = new Date();
await utimes(join(PROGRAM, 'main.js'), now, now);
