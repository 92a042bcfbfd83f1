/** Unit tests sit beside their file; test/ holds what crosses parts. Run by `npm test`. */
export default {
  testEnvironment: '<rootDir>/test/support/patient-environment.mjs',
  roots: ['<rootDir>'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', '/.gate/', '/.cache/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.cache/', '<rootDir>/.gate/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } },
    ],
  },
  testTimeout: 30_000,
  maxWorkers: 2,
  reporters: ['default', '<rootDir>/test/support/not-run.mjs'],
  testSequencer: '<rootDir>/test/support/test-order.mjs',
};
