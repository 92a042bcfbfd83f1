import { readFile } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { THREADS } from './single-file/layout.js';

const COMPILED = dirname(fileURLToPath(new URL('.', import.meta.url)));
const OUTPUT = join(COMPILED, 'threads');
/** Only the full edition walks its ledger in threads, and studies what rules say of recorded calls. */
const ENTRIES = [...THREADS, 'adapters/ledger/walk-thread.js', 'adapters/policy/study-thread.js'];

/** Modules find their files by where they lie; in the bundle they still say where they lay. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(COMPILED + sep)) return undefined;
      const place = JSON.stringify(relative(OUTPUT, path).replaceAll(sep, '/'));
      const text = await readFile(path, 'utf8');
      return { contents: text.replaceAll('import.meta.url', `new URL(${place},import.meta.url).href`) };
    });
  },
};

/**
 * The last step of `npm run build`: one file for each thread. A thread of a few hundred modules spends most of its start on finding, reading
 * and compiling them. `compiledScript` starts these.
 */
await build({
  entryPoints: ENTRIES.map((entry) => ({ in: join(COMPILED, entry), out: basename(entry, '.js') })),
  outdir: OUTPUT,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Native code and WebAssembly, which look for themselves where their packages lie.
  external: ['@photostructure/sqlite', 'libpg-query', 'pg-native'],
  banner: { js: "import{createRequire as requireFrom}from'node:module';const require=requireFrom(import.meta.url);" },
  plugins: [keepPlaces],
  logLevel: 'warning',
});

/** What the console's pages load: one script and one style, from sources that know a browser, and of the rest what has no I/O. */
const BROWSER = join(COMPILED, '..', 'console', 'browser');
await build({
  entryPoints: [join(BROWSER, 'console.ts'), join(BROWSER, 'console.css')],
  outdir: join(COMPILED, 'console', 'static'),
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  logLevel: 'warning',
});
