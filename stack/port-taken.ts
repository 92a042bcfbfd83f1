import { StartError } from '../config/start-error.js';

/** The message for a port that cannot be opened, with the setting that changes it; `null` for any other error. */
export function portTaken(error: unknown, what: string, settings: string): StartError | null {
  const { code, port } = error as { code?: string; port?: number };
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return null;
  const why = code === 'EADDRINUSE' ? 'is in use by another process' : 'may not be opened by this user';
  return new StartError(`port ${port} of ${what} ${why}; free it or set ${settings}`);
}
