import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { PROJECT_ROOT } from '../../config/project-root.js';

/** An environment of Python beside the cache, with the packages that the Python SDK works with, each at the version that its list names. */
const ENVIRONMENT =
  process.env['GATE_TEST_SDK_PYTHON'] ??
  join(dirname(process.env['GATE_CACHE_DIR'] ?? join(homedir(), '.cache/gate/bin')), 'sdk-python');

export const SDK_PYTHON = join(ENVIRONMENT, 'bin/python');

const IS_INSTALLED = `
import importlib.metadata, sys
for line in sys.stdin:
    name, _, version = line.partition("==")
    if version and importlib.metadata.version(name) != version.strip():
        sys.exit(1)
`;

export const HAS_SDK_PYTHON = (() => {
  try {
    const input = readFileSync(join(PROJECT_ROOT, 'sdks/python/agent_sdk/requirements-test.txt'));
    execFileSync(SDK_PYTHON, ['-c', IS_INSTALLED], { input, stdio: ['pipe', 'ignore', 'ignore'] });
    return true;
  } catch {
    return false;
  }
})();
