import pg from 'pg';

/**
 * Connections to one schema. A server may close any of them at any time, idle or between two statements. The current or the next query then
 * throws to its caller. The pool's error event has no other listener, and without one it would end the process.
 */
export function postgresPool({ url, schema }: { readonly url: string; readonly schema: string }, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, options: `-c search_path=${schema}` });
  const lost = (): void => undefined;
  pool.on('error', lost);
  pool.on('connect', (client) => client.on('error', lost));
  return pool;
}
