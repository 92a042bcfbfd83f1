import { fieldIn } from './html.js';

/** Somebody's browser at lite: keeps its cookie, and sends forms as browsers do. */
export interface LiteBrowser {
  readonly cookie: () => string;
  get(path: string, headers?: Record<string, string>): Promise<LitePage>;
  /** Sends a form with the `csrf` of the session, unless `fields` or `headers` say otherwise. */
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<LitePage>;
}

export interface LitePage {
  readonly status: number;
  readonly location: string | null;
  readonly text: string;
  readonly headers: Headers;
}

export function browserAt(url: string): LiteBrowser {
  let cookie = '';
  const went = async (path: string, init: RequestInit): Promise<LitePage> => {
    const answer = await fetch(new URL(path, url), { ...init, redirect: 'manual' });
    const [kept] = answer.headers.getSetCookie();
    if (kept !== undefined) cookie = kept.split(';', 1)[0] ?? '';
    return {
      status: answer.status,
      location: answer.headers.get('location'),
      text: await answer.text(),
      headers: answer.headers,
    };
  };
  const own = () => ({ accept: 'text/html', ...(cookie !== '' && { cookie }) });
  const browser: LiteBrowser = {
    cookie: () => cookie,
    get: (path, headers) => went(path, { headers: { ...own(), ...headers } }),
    async post(path, fields = {}, headers = {}) {
      const csrf = fields['csrf'] ?? fieldIn((await browser.get('/me')).text, 'csrf');
      return went(path, {
        method: 'POST',
        headers: {
          ...own(),
          origin: url,
          'content-type': 'application/x-www-form-urlencoded',
          ...headers,
        },
        body: new URLSearchParams({ csrf, ...fields }).toString(),
      });
    },
  };
  return browser;
}

/** A browser that signed in by the link of this lite. */
export async function signedInAt({
  url,
  signInLink,
}: {
  readonly url: string;
  readonly signInLink: () => string | null;
}): Promise<LiteBrowser> {
  const browser = browserAt(url);
  const came = await browser.get(signInLink() ?? '/no-link');
  if (came.status !== 303 || came.location !== '/') throw new Error(`not signed in: ${came.status} ${came.text}`);
  return browser;
}
