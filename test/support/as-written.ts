import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** Asks a listener of this machine for a path as it is written: `fetch` and `inject` resolve `..` before anything is sent. */
export const askAsWritten = (
  at: { readonly port: number; readonly host: string },
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port: at.port, path, method, agent: false, headers: { host: at.host, ...headers } },
      (answer) => {
        text(answer).then((words) => resolve({ status: answer.statusCode ?? 0, text: words }), reject);
      },
    );
    asked.on('error', reject).end(body);
  });
