import { signInLink } from '../../cli/console.js';
import { consoleOf } from '../../cli/stack-target.js';
import type { DevelopmentFile } from '../../stack/development-file.js';

/** The cookie of an operator of a running stack who signed in at its console by a link; of the first one where none is named. */
export async function consoleCookie(
  development: DevelopmentFile,
  as?: string,
): Promise<{ readonly name: string; readonly value: string }> {
  const answer = await fetch(await signInLink(development, as), { redirect: 'manual' });
  const [cookie = ''] = answer.headers.getSetCookie();
  const [, name, value] = /^([^=]+)=([^;]+)/.exec(cookie) ?? [];
  if (answer.status !== 303 || name === undefined || value === undefined)
    throw new Error(`not signed in: ${answer.status} ${await answer.text()}`);
  return { name, value };
}

/** A page of a running stack's console, as its first operator is shown it. */
export async function consolePage(development: DevelopmentFile, path: string): Promise<string> {
  const { name, value } = await consoleCookie(development);
  const headers = { cookie: `${name}=${value}`, accept: 'text/html' };
  const answer = await fetch(new URL(path, consoleOf(development)), { headers });
  return answer.text();
}
