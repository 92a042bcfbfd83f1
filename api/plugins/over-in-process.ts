import type { ServiceApp } from './app.js';
import type { Over } from './declaration.js';

/** Nobody resolves it: requests never leave the process. */
const HERE = 'http://localhost';

/**
 * A service of this process that listens nowhere, asked as services ask each other over HTTP. Who asks is what the service was opened with
 * (`resolveCaller`): nobody else reaches it.
 */
export function overInProcess(app: ServiceApp): Over {
  const fetch: Over['fetch'] = Object.assign(
    async (...[url, { method, headers, body, signal }]: Parameters<Over['fetch']>) => {
      const asked = app.inject({
        method: method as 'GET' | 'POST' | 'PUT' | 'DELETE',
        url: pathOf(url),
        ...(headers && { headers }),
        ...(body !== undefined && { payload: body }),
      });
      const { statusCode, payload, headers: given } = await unlessAborted(asked, signal);
      return {
        status: statusCode,
        setCookies: [given['set-cookie'] ?? []].flat(),
        text: () => Promise.resolve(payload),
      };
    },
    {
      async stream(...[url, { method = 'GET', headers, body: payload, signal }]: Parameters<Over['fetch']['stream']>) {
        const answer = await app.inject({
          method,
          url: pathOf(url),
          headers,
          ...(payload !== undefined && { payload }),
          payloadAsStream: true,
        });
        const body = answer.stream();
        // As a connection that ends: the service sees the end of its reader.
        const leave = () => answer.raw.res.destroy();
        signal.addEventListener('abort', leave, { once: true });
        body.once('close', leave);
        if (signal.aborted) leave();
        return {
          status: answer.statusCode,
          body: body as AsyncIterable<Uint8Array>,
          async text() {
            const parts: Uint8Array[] = [];
            for await (const part of body) parts.push(part as Uint8Array);
            return Buffer.concat(parts).toString('utf8');
          },
        };
      },
    } satisfies Pick<Over['fetch'], 'stream'>,
  );
  return { url: HERE, fetch };
}

const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};

/** Work goes on after the signal; whoever asked does not wait for it. */
function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason as Error);
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
