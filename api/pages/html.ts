import type { FastifyReply } from 'fastify';
import { printable } from '../../domain/printable.js';
import { relativeTime } from '../../domain/time-told.js';

/** Every text that came from an agent passes through here, so that it is text and never markup. */
export const text = (value: string): string =>
  printable(value).replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** How long ago or ahead, in words; the exact time on hover and in print. */
export const shownTime = (iso: string, nowMs: number): string => {
  const exact = `${text(iso.slice(0, 10))} ${text(iso.slice(11, 19))} UTC`;
  return `<time datetime="${text(iso)}" title="${exact}">${relativeTime(Date.parse(iso) - nowMs)}<span class="exact"> (${exact})</span></time>`;
};

/** A message about what was just done or refused. It gets the focus, so that a screen reader begins with it. */
export const notice = (kind: 'good' | 'bad', html: string): string =>
  `<p class="notice ${kind}" role="${kind === 'bad' ? 'alert' : 'status'}" tabindex="-1" autofocus>${html}</p>`;

const ICON =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E%3Cpath d=%22M2 15V5l6-4 6 4v10h-3V7H5v8z%22 fill=%22%231b6e3c%22/%3E%3C/svg%3E';

export const STYLE = `
:root{color-scheme:light dark;--line:#d0d7de;--soft:#f6f8fa;--dim:#59636e;--bad:#a40e26;--wait:#7a4b00;--go:#1b6e3c;--good:#1b6e3c;--link:#0a58ca}
@media (prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#1c2128;--dim:#9ea7b1;--bad:#ff8f8f;--wait:#e3b341;--go:#26773f;--good:#6fd08c;--link:#8ab4ff}}
*{box-sizing:border-box}
body{font:15px/1.45 system-ui,sans-serif;max-width:84rem;margin:0 auto;padding:.8rem 1rem 2rem;overflow-wrap:anywhere}
h1{font-size:1.25rem;margin:0 0 .4rem}h2{font-size:1.1rem;margin:.8rem 0 .4rem}h3{font-size:1rem;margin:0}p{margin:.35rem 0}a{color:var(--link)}
code,pre{font:13px/1.4 ui-monospace,monospace}
.dim,small{color:var(--dim);font-weight:400}small,.fine{font-size:13px}.bad{color:var(--bad)}.wait{color:var(--wait)}
.vh{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.exact{display:none}@media print{.exact{display:inline}}
.glance{display:flex;flex-wrap:wrap;gap:.2rem 1.6rem;margin:.3rem 0;padding:.4rem .8rem;background:var(--soft);border-radius:6px;list-style:none}
.notice{border-left:4px solid currentColor;background:var(--soft);padding:.5rem .8rem;margin:.5rem 0}.notice.good{color:var(--good)}
.head{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}
article{border:1px solid var(--line);border-radius:6px;padding:.7rem .9rem;margin:0 0 .7rem}
pre{background:var(--soft);padding:.5rem .6rem;margin:.4rem 0;overflow:auto;white-space:pre-wrap;max-height:16rem;border-radius:4px}
iframe{border:0;width:100%;height:1.7rem;display:block}
.calls{list-style:none;margin:0;padding:0}.calls li{border-top:1px solid var(--line);padding:.45rem 0}.calls p{margin:0}
input,button{font:inherit;padding:.35rem .7rem;border:1px solid var(--line);border-radius:4px}
button{cursor:pointer}.go{background:var(--go);color:#fff;border-color:var(--go)}.go:disabled{opacity:.5;cursor:not-allowed}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}.notice:focus-visible{outline:0}
.decide{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center}.decide label{flex:1 1 16rem;display:flex;gap:.5rem;align-items:center}.decide input[name=reason]{flex:1;min-width:6rem}
.login{max-width:34rem}.login input{width:100%;margin:.3rem 0 .6rem}
@media (min-width:64rem){.sides{display:grid;grid-template-columns:minmax(0,1fr) 25rem;gap:0 2rem;align-items:start}}
@media (max-width:40rem){body{font-size:16px;padding:.6rem .7rem 2rem}input,button{min-height:44px}.decide button{flex:1}.decide label{flex-basis:100%}iframe{height:2.6rem}}
`;

/** A document of Gate's own: no script, nothing loaded from elsewhere. `head` and `body` are markup. */
export const document = (title: string, head: string, body: string, style = STYLE): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title><meta name="viewport" content="width=device-width, initial-scale=1">${head}
<link rel="icon" href="${ICON}"><style>${style}</style></head><body>${body}</body></html>`;

/** Sends a document that no other site may frame, post to or read, and that nothing caches. */
export const sendDocument = (reply: FastifyReply, status: number, body: string, framedBy = "'none'"): FastifyReply =>
  reply
    .code(status)
    .type('text/html; charset=utf-8')
    .header(
      'Content-Security-Policy',
      `default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'; form-action 'self'; frame-ancestors ${framedBy}; base-uri 'none'`,
    )
    .header('X-Content-Type-Options', 'nosniff')
    // Not `no-referrer`: with it a browser sends `Origin: null` with every form, and such a form is refused as one from another site.
    .header('Referrer-Policy', 'same-origin')
    .header('Cache-Control', 'no-store')
    .send(body);
