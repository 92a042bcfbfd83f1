import pg from 'pg';

/**
 * Connections to one schema. A server may end any of them at any moment: an idle one, or one that is checked out and between two
 * statements. The query in flight, or the next one, throws to its caller; the event itself has no other reader, and without a listener it
 * would end the process.
 */
export function postgresPool({ url, schema }: { readonly url: string; readonly schema: string }, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, options: `-c search_path=${schema}` });
  const lost = (): void => undefined;
  pool.on('error', lost);
  pool.on('connect', (client) => client.on('error', lost));
  return pool;
}
