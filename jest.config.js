import { availableParallelism, tmpdir, totalmem, userInfo } from 'node:os';
import { join } from 'node:path';
import { folderInMemory } from './test/support/temporary-folder.mjs';

const GIB = 2 ** 30;
/**
 * One for each core, where there is memory for the stack that each may have beside it. More are no faster by much, since tests that wait start
 * processes that do not, and what has deadlines then fails on a busy machine.
 */
const WORKERS = Math.max(2, Math.min(availableParallelism(), 6, Math.floor(totalmem() / (3 * GIB))));

/** Outlives a run. */
const cacheDirectory = join(tmpdir(), `gate-jest-${userInfo().uid}`);
process.env.TMPDIR ??= folderInMemory() ?? tmpdir();

/** Unit tests sit beside their file; test/ holds what crosses parts. Run by `npm test`. */
export default {
  cacheDirectory,
  testEnvironment: '<rootDir>/test/support/patient-environment.mjs',
  roots: ['<rootDir>'],
  testMatch: ['**/*.test.ts', '**/*.test.tsx'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', '/.gate/', '/.cache/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.cache/', '<rootDir>/.gate/'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // As it is now, not as it was built last.
    '^@gate/agent-sdk$': '<rootDir>/sdks/typescript/agent-sdk/src/index.ts',
  },
  transform: {
    '^.+\\.tsx?$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', tsx: true },
          transform: { react: { runtime: 'automatic', importSource: 'preact' } },
          target: 'es2022',
        },
        module: { type: 'es6' },
        // Beside the code, where a stack is looked up in it. Inside it, as the transformer has it by itself, two thirds of the text of every module
        // that every test file compiles anew were the map.
        sourceMaps: true,
      },
    ],
  },
  testTimeout: 30_000,
  /**
   * The modules of a test file stay in its worker's heap, some 40 MB of each. Without a limit a worker of a whole run ends out of memory, and
   * long before that it collects garbage more than it tests.
   */
  workerIdleMemoryLimit: '1GB',
  maxWorkers: WORKERS,
  reporters: ['default', '<rootDir>/test/support/not-run.mjs'],
  testSequencer: '<rootDir>/test/support/test-order.mjs',
};
