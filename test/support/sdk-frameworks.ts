import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * The frameworks that the examples of the SDK are for, in one folder, where `.ci/run` puts them:
 * `npm install --ignore-scripts --prefix FOLDER` with the package.json of `sdks/typescript/frameworks`.
 */
export const FRAMEWORKS =
  process.env['GATE_TEST_SDK_FRAMEWORKS'] ??
  join(dirname(process.env['GATE_CACHE_DIR'] ?? join(homedir(), '.cache/gate/bin')), 'sdk-frameworks');
export const HAS_FRAMEWORKS = existsSync(join(FRAMEWORKS, 'installed.json'));
