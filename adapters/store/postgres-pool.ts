import pg from 'pg';

/** How long a server may say nothing. */
export interface SilenceLimits {
  /** Until there is a connection, a new one or one that others use. */
  readonly connectMs: number;
  /** Between a query and its end; `null` where a query may take as long as it takes, as in a migration. */
  readonly queryMs: number | null;
}

/**
 * No query at run time is a long one: reports and walks read in pages, sweeps delete in batches. So two minutes of silence are a store that
 * hangs, and whoever waits for it is told so and gives its place to others.
 */
export const SILENCE_LIMITS: SilenceLimits = { connectMs: 30_000, queryMs: 120_000 };

/**
 * Connections to one schema. A server may close any of them at any time, idle or between two statements. The current or the next query then
 * throws to its caller. The pool's error event has no other listener, and without one it would end the process. A server that holds a
 * connection and says nothing ends nothing, so the limits do, and the connection is not used again.
 */
export function postgresPool(
  { url, schema }: { readonly url: string; readonly schema: string },
  max: number,
  { connectMs, queryMs }: SilenceLimits = SILENCE_LIMITS,
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    options: `-c search_path=${schema}`,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    Client: queryMs === null ? pg.Client : endedBySilence(queryMs),
  });
  const lost = (): void => undefined;
  pool.on('error', lost);
  pool.on('connect', (client) => client.on('error', lost));
  return pool;
}

/**
 * A client whose connection ends when a query has no end in time. The limit that `pg` has itself lets the caller go and keeps the connection,
 * on which every later query would wait for the one that hangs.
 */
const endedBySilence = (queryMs: number): typeof pg.Client =>
  class extends pg.Client {
    #timer: NodeJS.Timeout | undefined;

    constructor(...given: ConstructorParameters<typeof pg.Client>) {
      super(...given);
      const answered = (): void => clearTimeout(this.#timer);
      this.on('drain', answered).on('end', answered);
      const { query } = this;
      this.query = ((...asked: Parameters<typeof query>) => {
        clearTimeout(this.#timer);
        const silent = new Error(`the database server did not answer a query within ${queryMs / 1000} s`);
        this.#timer = setTimeout(() => this.connection.stream.destroy(silent), queryMs).unref();
        return query.apply(this, asked);
      }) as typeof query;
    }
  };
