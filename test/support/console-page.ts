import { signInLink } from '../../cli/console.js';
import { consoleOf } from '../../cli/stack-target.js';
import type { DevelopmentFile } from '../../stack/development-file.js';

/** A page of a running stack's console, as its first operator is shown it. */
export async function consolePage(development: DevelopmentFile, path: string): Promise<string> {
  const signedIn = await fetch(await signInLink(development), { redirect: 'manual' });
  const [cookie = ''] = signedIn.headers.getSetCookie().map((set) => set.split(';', 1)[0] ?? '');
  const answer = await fetch(new URL(path, consoleOf(development)), { headers: { cookie, accept: 'text/html' } });
  return answer.text();
}
