/** The asset that lists the others: the paths they are written to, below the folder of a start. */
export const INDEX_ASSET = 'index.json';
/** The native library of the database, in that folder. */
export const NATIVE_LIBRARY = 'sqlite.node';
/** The threads of large requests and of reports, in that folder: a thread starts from a file. */
export const THREADS = [
  'adapters/evidence/derived-thread.js',
  'adapters/inspection/inspection-thread.js',
  'adapters/inspection/scan-thread.js',
  'adapters/policy/policy-thread.js',
  'adapters/sandbox/sandbox-thread.js',
] as const;
