import type { FastifyReply } from 'fastify';
import { printable } from '../../domain/printable.js';

/** Text that is text and never markup. */
export const text = (value: string): string =>
  printable(value).replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Why something was refused. It gets the focus, so that a screen reader begins with it. */
export const notice = (html: string): string => `<p class="notice" role="alert" tabindex="-1" autofocus>${html}</p>`;

const ICON =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E%3Cpath d=%22M2 15V5l6-4 6 4v10h-3V7H5v8z%22 fill=%22%231b6e3c%22/%3E%3C/svg%3E';

const STYLE = `
:root{color-scheme:light dark;--line:#d0d7de;--soft:#f6f8fa;--dim:#59636e;--bad:#a40e26;--go:#1b6e3c;--link:#0a58ca}
@media (prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#1c2128;--dim:#9ea7b1;--bad:#ff8f8f;--go:#26773f;--link:#8ab4ff}}
*{box-sizing:border-box}
body{font:15px/1.45 system-ui,sans-serif;max-width:84rem;margin:0 auto;padding:.8rem 1rem 2rem;overflow-wrap:anywhere}
h1{font-size:1.25rem;margin:0 0 .4rem}p{margin:.35rem 0}a{color:var(--link)}code{font:13px/1.4 ui-monospace,monospace}
.dim,small{color:var(--dim);font-weight:400}small{font-size:13px}
.notice{border-left:4px solid currentColor;background:var(--soft);color:var(--bad);padding:.5rem .8rem;margin:.5rem 0}
input,button{font:inherit;padding:.35rem .7rem;border:1px solid var(--line);border-radius:4px}
button{cursor:pointer}.go{background:var(--go);color:#fff;border-color:var(--go)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}.notice:focus-visible{outline:0}
.login{max-width:34rem}.login input{width:100%;margin:.3rem 0 .6rem}
@media (max-width:40rem){body{font-size:16px;padding:.6rem .7rem 2rem}input,button{min-height:44px}}
`;

/** A document of Gate's own: no script, nothing loaded from elsewhere. `body` is markup. */
export const document = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="${ICON}"><style>${STYLE}</style></head><body>${body}</body></html>`;

/** Sends a document that no other site may frame, post to or read, and that nothing caches. */
export const sendDocument = (reply: FastifyReply, status: number, body: string): FastifyReply =>
  reply
    .code(status)
    .type('text/html; charset=utf-8')
    .header(
      'Content-Security-Policy',
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    )
    .header('X-Content-Type-Options', 'nosniff')
    // Not `no-referrer`: with it a browser sends `Origin: null` with every form, and such a form is refused as one from another site.
    .header('Referrer-Policy', 'same-origin')
    .header('Cache-Control', 'no-store')
    .send(body);
