import type { Json } from '../contracts/json.js';

/** The form of a JSON Pointer (RFC 6901): empty for the whole value. */
export const isPointer = (text: string): boolean => (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text);

/** What stands at a pointer; `undefined` where nothing does. Only a value's own members count, and only plain indexes of lists. */
export function at(value: Json | undefined, pointer: string): Json | undefined {
  let found = value;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null) return undefined;
    if (Array.isArray(found)) found = /^(?:0|[1-9]\d{0,8})$/.test(name) ? (found[Number(name)] as Json) : undefined;
    else found = Object.hasOwn(found, name) ? (found as Readonly<Record<string, Json>>)[name] : undefined;
  }
  return found;
}
