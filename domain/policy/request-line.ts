import { names } from '../argument-names.js';

const METHODS = names(
  'get head options post put patch delete merge move copy purge connect trace mkcol link unlink proppatch',
);
/** Longer than a method with its blanks. */
const HEAD = 64;

/**
 * What the first line of an HTTP request asks for, where a text is one: `DELETE https://example.com/a`, `POST /a HTTP/1.1`. Null for any
 * other text, also for a method with a bare path, which is how documents write of one.
 */
export function requestLine(text: string): { readonly method: string; readonly target: string } | null {
  const line = text.trimStart();
  const [head, method = ''] = /^([a-z]{3,16})[ \t]{1,32}/i.exec(line.slice(0, HEAD)) ?? [];
  if (head === undefined || !METHODS.has(method.toLowerCase())) return null;
  const [target = '', version = ''] = line.slice(head.length).split(/\s/, 2);
  const isRequest = /^(?:https?|wss?|ftp):/i.test(target) || (target.startsWith('/') && /^HTTP\/\d/i.test(version));
  return isRequest ? { method: method.toUpperCase(), target } : null;
}
