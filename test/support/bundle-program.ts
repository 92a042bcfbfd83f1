import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type BuildOptions, type Plugin } from 'esbuild';

/**
 * Makes one file of a built program that tests start and kill hundreds of times: most of what such a process costs is finding, reading and
 * compiling two thousand modules. Arguments: the program, the file to write. The code is the same, and so are the places it reads from.
 * A process of its own, because esbuild does not run inside Jest.
 */
const [program = '', outfile = ''] = process.argv.slice(2);

/** Native code looks for itself where it lies. */
const AS_THEY_ARE = /^(?:@photostructure\/sqlite|pg-native)$/;

const inPlace: Plugin = {
  name: 'in-place',
  setup({ onLoad, onResolve, resolve }) {
    onResolve({ filter: AS_THEY_ARE }, async ({ path, pluginData, kind, resolveDir }) => {
      if (pluginData === 'as it is') return undefined;
      const found = await resolve(path, { kind, resolveDir, pluginData: 'as it is' });
      return found.errors.length > 0 ? { path, external: true } : { path: found.path, external: true };
    });
    // Hosts are given their workflow code made already.
    onLoad({ filter: /@temporalio\/worker\/lib\/workflow\/bundler\.js$/ }, () => ({
      contents:
        'exports.defaultWorkflowInterceptorModules = []; exports.WorkflowCodeBundler = class {}; exports.bundleWorkflowCode = () => Promise.reject(new Error("no bundler here"));',
    }));
    onLoad({ filter: /\.[cm]?js$/ }, async ({ path }) => {
      const source = (await readFile(path, 'utf8'))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll('require.resolve(', `require('node:module').createRequire(${JSON.stringify(path)}).resolve(`);
      const names = `var __filename = ${JSON.stringify(path)}, __dirname = ${JSON.stringify(dirname(path))};`;
      return { contents: /^(?:import|export)\b/m.test(source) ? source : names + source };
    });
  },
};

const options: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  plugins: [inPlace],
  logLevel: 'error',
};
await build({ ...options, entryPoints: [program], outfile, format: 'cjs' });
