import { oneLine } from '../../domain/printable.js';
import { isAtLeast } from '../roles.js';
import type { Form, Page, Person, Shown } from '../visit.js';
import { Csrf, Foreign, Time } from './parts.js';
import { Typed } from './typed.js';

export interface DocumentProps {
  readonly shown: Shown;
  readonly person: Person | null;
  readonly csrf: string;
  readonly assets: { readonly style: { readonly path: string }; readonly script: { readonly path: string } };
  readonly pages: readonly Page[];
  /** The path of the page. */
  readonly here: string;
  /** What everybody who is signed in has to know on every page. */
  readonly standing: readonly string[];
  /** All of the person's tenant is stopped. */
  readonly isStopped: boolean;
  /** The session ends soon, however much it is used, and where somebody signs in anew; `null` where it does not. */
  readonly ends: { readonly at: string; readonly nowMs: number; readonly signIn: string } | null;
}

/** Everything around a page. Nothing is loaded from elsewhere, and no script stands in it. */
export const Document = ({ shown, person, csrf, assets, pages, here, standing, isStopped, ends }: DocumentProps) => (
  <html lang="en">
    <head>
      <meta charSet="utf-8" />
      <title>{oneLine(shown.title)} - Gate</title>
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <link rel="icon" href={ICON} />
      <link rel="stylesheet" href={assets.style.path} />
      <script src={assets.script.path} type="module" />
    </head>
    <body>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="top">
        <a class="brand" href="/">
          Gate
        </a>
        {person && (
          <>
            {/* In the width of a telephone a menu, which needs no script. */}
            <button type="button" class="menu" popovertarget="pages">
              Pages
            </button>
            <nav id="pages" aria-label="Pages" popover="auto">
              {pages.flatMap(({ nav, path, role }) =>
                nav && isAtLeast(person.role, role) ? (
                  <a key={path} href={path} data-go={nav.key} aria-current={currentAt(path, here)}>
                    {nav.label}
                  </a>
                ) : (
                  []
                ),
              )}
            </nav>
            <form class="who" method="post" action="/logout">
              <Csrf token={csrf} />
              <span>
                <Foreign text={person.subject} />{' '}
                <span class="dim">
                  {person.role}, {person.tenant ?? 'all tenants'}
                </span>
              </span>
              <button type="submit">Sign out</button>
            </form>
          </>
        )}
      </header>
      <main id="main" tabIndex={-1}>
        {person && isStopped && (
          <p class="notice bad" data-stopped>
            All of {person.tenant} is stopped: nothing that its agents ask for runs, whoever approves it.{' '}
            <a href="/stops">Stops</a>
          </p>
        )}
        {person &&
          standing.map((words) => (
            <p key={words} class="standing">
              {words}
            </p>
          ))}
        {ends && (
          <p class="standing">
            Your session ends <Time iso={ends.at} nowMs={ends.nowMs} />, however much you do: send before then what you
            are typing. <a href={ends.signIn}>Sign in anew</a>
          </p>
        )}
        {shown.notice && (
          <p class={`notice ${shown.notice.kind}`} role={shown.notice.kind === 'bad' ? 'alert' : 'status'}>
            {shown.notice.text}
          </p>
        )}
        {shown.body}
      </main>
    </body>
  </html>
);

/** The page itself, or the part of the console that it belongs to. The home page is the queue. */
const currentAt = (path: string, here: string): 'page' | 'true' | undefined =>
  path === here ? 'page' : here.startsWith(`${path}/`) || (here === '/' && path === '/hil') ? 'true' : undefined;

/** Why something was not shown or not done, and what to do. */
export const Problem = ({
  code,
  words,
  id,
  signIn,
  form = null,
  inDoubt = false,
}: {
  readonly code: string;
  readonly words: string;
  readonly id: string;
  /** Where to sign in, to come back to the page before this one. */
  readonly signIn: string;
  /** The form that was refused. */
  readonly form?: Form | null;
  /** It may have been done all the same. */
  readonly inDoubt?: boolean;
}) => (
  <section>
    <h1>{inDoubt ? 'Not known whether it was done' : 'That did not work'}</h1>
    <p>
      <Foreign text={words} />
    </p>
    <p class="dim">
      <code>{code}</code>, <code data-copy={id}>{id}</code>
    </p>
    {form && <Typed form={form} />}
    <p>{code === 'unauthenticated' ? <a href={signIn}>Sign in</a> : <a href="/">Back to what waits</a>}</p>
  </section>
);

const ICON =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E%3Cpath d=%22M2 15V5l6-4 6 4v10h-3V7H5v8z%22 fill=%22%231b6e3c%22/%3E%3C/svg%3E';
