import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';
import { inject } from 'postject';
import { MANUAL_PAGE } from '../api/proxy/routes/manual.js';
import { errorText } from '../domain/errors.js';
import { SQL_PARSER_WASM } from '../adapters/sql/parser.js';
import { PROGRAM_FOLDER } from '../adapters/threads/program-folder.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { INDEX_ASSET, NATIVE_LIBRARY, THREADS } from './single-file/layout.js';

const run = promisify(execFile);
const COMPILED = fileURLToPath(new URL('..', import.meta.url));
/** Where Node looks for a program inside itself (Node's manual, "Single executable applications"). */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const STEP_LIMIT_MS = 120_000;
/** A thread has its own globals, so it looks for the bundle where it was unpacked. */
const OWN_PLACE = "globalThis.GATE_MODULE_URL=require('node:url').pathToFileURL(__filename).href;";

/**
 * `npm run build:lite`: the lite edition as one executable. A bundle of the compiled modules, with rules, personas, the SQL parser and
 * the database's native library beside it, goes into a copy of the Node that runs this; the result runs on machines of the same system and processor
 * without Node. Throws with what the step said that failed.
 */
export async function buildLite(output: string): Promise<{ bytes: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-build-lite-'));
  try {
    const unpack = await bundled('scripts/single-file/unpack.js', {});
    const program = await bundled('cli/single-file.js', { banner: `"use strict";(()=>{${unpack}})();` });
    await writeFile(join(folder, 'program.js'), program);
    for (const thread of THREADS)
      await writeFile(join(folder, basename(thread)), await bundled(thread, { banner: OWN_PLACE }));
    await writeFile(join(folder, 'package.json'), await packageFacts());
    const files: Record<string, string> = {
      'package.json': join(folder, 'package.json'),
      [`${PROGRAM_FOLDER}/${NATIVE_LIBRARY}`]: nativeLibrary(),
      [`${PROGRAM_FOLDER}/node_modules/${SQL_PARSER_WASM}`]: createRequire(import.meta.url).resolve(SQL_PARSER_WASM),
      ...Object.fromEntries(
        THREADS.map((thread) => [`${PROGRAM_FOLDER}/${basename(thread)}`, join(folder, basename(thread))]),
      ),
      ...(await below('policies', (path) => !/(?:_test\.rego|\.yaml)$/.test(path))),
      ...(await below('personas', () => true)),
      ...(await below('dist/console/static', () => true)),
      [MANUAL_PAGE.file.join('/')]: join(PROJECT_ROOT, ...MANUAL_PAGE.file),
    };
    await writeFile(join(folder, INDEX_ASSET), JSON.stringify(Object.keys(files)));
    await writeFile(
      join(folder, 'sea.json'),
      JSON.stringify({
        main: join(folder, 'program.js'),
        output: join(folder, 'sea.blob'),
        disableExperimentalSEAWarning: true,
        useCodeCache: true,
        assets: { ...files, [INDEX_ASSET]: join(folder, INDEX_ASSET) },
      }),
    );
    await run(process.execPath, ['--experimental-sea-config', join(folder, 'sea.json')], { timeout: STEP_LIMIT_MS });
    await mkdir(dirname(output), { recursive: true });
    await rm(output, { force: true });
    await copyFile(process.execPath, output);
    const mac = process.platform === 'darwin';
    if (mac) await run('codesign', ['--remove-signature', output], { timeout: STEP_LIMIT_MS });
    await inject(output, 'NODE_SEA_BLOB', await readFile(join(folder, 'sea.blob')), {
      sentinelFuse: FUSE,
      ...(mac && { machoSegmentName: 'NODE_SEA' }),
    });
    if (mac) await run('codesign', ['--sign', '-', output], { timeout: STEP_LIMIT_MS });
    return { bytes: (await stat(output)).size };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One CommonJS text of a compiled module and everything it imports: a program inside Node can load nothing but Node's own modules. */
async function bundled(module: string, { banner }: { banner?: string }): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(COMPILED, module)],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: true,
    legalComments: 'none',
    // The optional native half of the Postgres driver; lite never asks for it.
    external: ['pg-native'],
    define: { 'import.meta.url': 'globalThis.GATE_MODULE_URL' },
    plugins: [nativeFromUnpacked],
    ...(banner !== undefined && { banner: { js: banner } }),
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

/** The database's package looks for its native library below its own folder; in the executable it lies where it was unpacked to. */
const nativeFromUnpacked: Plugin = {
  name: 'native-from-unpacked',
  setup(bundler) {
    bundler.onResolve({ filter: /^node-gyp-build$/ }, () => ({ path: 'node-gyp-build', namespace: 'unpacked' }));
    bundler.onLoad({ filter: /.*/, namespace: 'unpacked' }, () => ({
      contents: `module.exports = () => require('node:module').createRequire(globalThis.GATE_MODULE_URL)('./${NATIVE_LIBRARY}');`,
      loader: 'js',
    }));
  },
};

/** The library that this Node loads from the database's package. */
function nativeLibrary(): string {
  const require = createRequire(import.meta.url);
  const owner = createRequire(require.resolve('@photostructure/sqlite'));
  const find = owner('node-gyp-build') as { path: (folder: string) => string };
  return find.path(dirname(require.resolve('@photostructure/sqlite/package.json')));
}

async function packageFacts(): Promise<string> {
  const { name, version } = JSON.parse(await readFile(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
  };
  return JSON.stringify({ name, version });
}

/** The files below a folder of the project, by their path in it. */
async function below(folder: string, wanted: (path: string) => boolean): Promise<Record<string, string>> {
  const root = join(PROJECT_ROOT, folder);
  const found = await readdir(root, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    found
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => wanted(relative(root, path)))
      .map((path) => [relative(PROJECT_ROOT, path).replaceAll('\\', '/'), path]),
  );
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({ options: { output: { type: 'string' } } });
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const output = values.output ?? join(PROJECT_ROOT, 'dist', 'single-file', `gate${suffix}`);
  try {
    const { bytes } = await buildLite(output);
    process.stderr.write(
      `${relative(process.cwd(), output)}: ${Math.round(bytes / 2 ** 20)} MiB; try \`${relative(process.cwd(), output)} lite\`\n`,
    );
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  }
}
